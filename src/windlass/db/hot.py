"""Statements that a process says again and again: prepared at their first use, and sent past the cursor.

A cursor finds out for each value how it is written and for each statement whether it is worth preparing.
That takes as long as all else that a client does for a lone job, so calls that say `hot` go straight to
libpq.  Their values are of a few types, written here; what comes back is read as anywhere else.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from select import POLLIN, poll
from typing import Any, Self, TypeVar
from uuid import UUID

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import Transformer
from psycopg.errors import DuplicatePreparedStatement, error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import TupleRow
from psycopg.waiting import Wait

from windlass.db.call import Call, Row
from windlass.db.startup import unless_refused
from windlass.db.wire import Ids, OurTypes, RawTypes, Texts
from windlass.errors import InvalidInput

__all__ = ["AsyncOurConnection", "OurConnection", "is_new", "prepare", "ready", "run_hot", "written"]

T = TypeVar("T")

_READ_RAW, _READ = RawTypes(), OurTypes()


class AsyncOurConnection(AsyncConnection[TupleRow]):
    """A connection of ours on an event loop, which knows what was prepared on it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.prepared: dict[str, bytes] = {}
        self.readers = Transformer(_READ), Transformer(_READ_RAW)
        _name_apart(self)

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> Self:
        try:
            return await super().connect(conninfo, **options)
        except OperationalError as error:
            if (fewer := unless_refused(error, options)) is None:
                raise
        return await super().connect(conninfo, **fewer)


class OurConnection(Connection[TupleRow]):
    """The same for a thread."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.prepared: dict[str, bytes] = {}
        self.readers = Transformer(_READ), Transformer(_READ_RAW)
        _name_apart(self)

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Self:
        try:
            return super().connect(conninfo, **options)
        except OperationalError as error:
            if (fewer := unless_refused(error, options)) is None:
                raise
        return super().connect(conninfo, **fewer)


def _name_apart(connection: AsyncOurConnection | OurConnection) -> None:
    """Have the driver count the statements that it prepares from a number that nobody else has.

    It names them by that number alone.  Behind a pooler that nobody told us of, sessions change hands, and
    a name that two processes use would run the one's statement with the other's values.
    """
    if (manager := getattr(connection, "_prepared", None)) is not None:
        manager._prepared_idx = secrets.randbits(62)


def is_new(connection: AsyncOurConnection | OurConnection, call: Call[Any]) -> bool:
    """Whether it must be prepared first; never behind a pooler, where sessions change hands.

    Nor within a transaction, which a name that is taken would end.
    """
    return (
        call.text not in connection.prepared
        and connection.prepare_threshold is not None
        and connection.pgconn.transaction_status == TransactionStatus.IDLE
    )


def prepare(connection: AsyncOurConnection | OurConnection, call: Call[Any]) -> PQGen[None]:
    """Apart from the call itself: whoever is canceled meanwhile has sent nothing that could take effect.

    The name follows from the text.  If it is taken, a pooler has led here a session of somebody who says
    the same, and there is nothing to prepare.
    """
    text = call.text.encode()
    name = b"windlass_" + blake2b(text, digest_size=16).hexdigest().encode()
    connection.pgconn.send_prepare(name, text)
    with suppress(DuplicatePreparedStatement):
        yield from _answer(connection)
    connection.prepared[call.text] = name


def ready(call: Call[T]) -> Call[T]:
    """The same call, with nothing left to do before it is sent: for one that will be in a hurry."""
    return replace(call, written=written(call.values))


def run_hot(connection: AsyncOurConnection | OurConnection, call: Call[Any]) -> PQGen[Sequence[Row]]:
    """Carry out a call: for the `wait` of the connection, whose `lock` the caller holds."""
    server = connection.pgconn
    values, formats = call.written or written(call.values)
    name = connection.prepared.get(call.text)
    if name is None:
        server.send_query_params(call.text.encode(), values, None, formats, Format.BINARY)
    else:
        server.send_query_prepared(name, values, formats, Format.BINARY)
    result = yield from _answer(connection)
    reader = connection.readers[call.raw]  # which knows how the types that it met are read
    reader.set_pgresult(result, format=Format.BINARY)
    rows: Sequence[Row] = reader.load_rows(0, result.ntuples, tuple)
    reader.set_pgresult(None)
    return rows


def _answer(connection: AsyncOurConnection | OurConnection) -> PQGen[PGresult]:
    """What one statement came to.  A server that ends the session may say so behind the answer."""
    yield from send(connection.pgconn)
    yield from _receive(connection)
    results: list[PGresult] = yield from fetch_many(connection.pgconn)
    for result in results:
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise error_from_result(result, encoding="utf-8")
    if not results:
        raise OperationalError("the connection ended without an answer")
    return results[0]


def _receive(connection: AsyncOurConnection | OurConnection) -> PQGen[None]:
    """Wait until an answer is here.  What has come of a long one is read at once.

    libpq reads 16 kB at a time.  The driver waits after each, on an event loop for all else that is to be
    done in a turn of it: an answer of a thousand jobs would be the work of twenty turns.
    """
    server, more = connection.pgconn, None
    while server.is_busy():
        if more is None or not more.poll(0):
            yield Wait.R
        server.consume_input()
        if more is None and server.is_busy():
            more = poll()
            more.register(server.socket, POLLIN)


def written(values: Sequence[Any]) -> tuple[list[Buffer | None], list[Format]]:
    """Values as libpq takes them, and in which of PostgreSQL's forms each is."""
    sent: list[Buffer | None] = []
    formats: list[Format] = []
    for value in values:
        if value is None:
            sent.append(None)
            formats.append(Format.TEXT)
        else:
            form, write = _TEXTS if _is_texts(value) else _WRITERS.get(type(value)) or _by_base(value)
            sent.append(write(value))
            formats.append(form)
    return sent, formats


def _by_base(value: Any) -> tuple[Format, Callable[[Any], Buffer]]:
    """How a value of somebody's own type is written: an enumeration of texts, another library's UUID."""
    for base in type(value).__mro__:
        if base in _WRITERS:
            return _WRITERS[base]
    raise InvalidInput(f"a value of type {type(value).__name__} cannot be sent to the database")


def _is_texts(value: Any) -> bool:
    return type(value) is list and any(isinstance(one, str) for one in value)


def _numbers(values: list[Any]) -> bytes:
    return b"{%s}" % ",".join(["NULL" if value is None else repr(value) for value in values]).encode()


# Text goes in its binary form, which has a length: in the other one a NUL would cut it short.
_WRITERS: dict[type, tuple[Format, Callable[[Any], Buffer]]] = {
    str: (Format.BINARY, str.encode),
    UUID: (Format.BINARY, lambda value: value.bytes),
    Ids: (Format.BINARY, Ids.as_array),
    Texts: (Format.BINARY, Texts.as_array),
    bool: (Format.TEXT, lambda value: b"t" if value else b"f"),
    int: (Format.TEXT, lambda value: b"%d" % value),
    float: (Format.TEXT, lambda value: repr(value).encode()),
    datetime: (Format.TEXT, lambda value: value.isoformat().encode()),
    list: (Format.TEXT, _numbers),
}
_TEXTS = (Format.BINARY, lambda values: Texts(values).as_array())
