"""Carry out a call on a connection that belongs to somebody else, inside the transaction open on it.

Nothing is begun, committed, rolled back or repeated here: the job is part of whatever its owner does
next.  After an error the transaction is in the state in which the driver leaves it after any error;
only the exception is one of ours, with the driver's as its cause.  None of the stacks is imported
before a connection of it is in hand.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor, Connection, RawCursor
from psycopg.rows import tuple_row

from windlass.db.call import Call, Row
from windlass.db.connect import translate, unstorable
from windlass.db.main_program import refuse_while_reading
from windlass.db.sqlstates import from_sqlstate
from windlass.errors import InvalidInput, WindlassError

__all__ = ["check_foreign", "is_async_connection", "run_foreign", "run_foreign_async"]

T = TypeVar("T")
Stack = Literal["psycopg", "sqlalchemy", "django", "asyncpg"]
Rows: TypeAlias = Sequence[Row]

_NUMBER = re.compile(r"\$(\d+)")
_LONE_COLON = re.compile(r"(?<!:):(?!:)")


class _Kind(NamedTuple):
    stack: Stack
    is_async: bool


def is_async_connection(connection: object) -> bool:
    """Whether calls on `connection` are awaited; InvalidInput if it is no connection that we know."""
    return _kind(connection).is_async


def check_foreign(connection: object, *, is_async: bool, verb: str = "enqueue") -> None:
    """InvalidInput, with what to do, unless `connection` can be used from this side."""
    refuse_while_reading("uses a connection for jobs")
    kind = _kind(connection)
    if is_async and not kind.is_async:
        raise InvalidInput(
            f"{_name(connection)} is a synchronous connection: use the synchronous form, such as {verb}_sync"
        )
    if kind.is_async and not is_async:
        raise InvalidInput(
            f"{_name(connection)} is an asyncio connection: use the asynchronous form, such as await {verb}"
        )
    if kind.stack in _VENDOR:
        _check_postgres(_VENDOR[kind.stack](connection))


def run_foreign(connection: object, call: Call[T]) -> T:
    """Carry out `call` on a connection of psycopg, SQLAlchemy (or its Session) or Django."""
    check_foreign(connection, is_async=False)
    with _translated():
        rows = _RUN[_kind(connection).stack](connection, call)
    return call.read(rows)


async def run_foreign_async(connection: object, call: Call[T]) -> T:
    """Carry out `call` on an asyncio connection of psycopg, SQLAlchemy (or its AsyncSession) or asyncpg."""
    check_foreign(connection, is_async=True)
    with _translated():
        rows = await _RUN_ASYNC[_kind(connection).stack](connection, call)
    return call.read(rows)


def _kind(connection: object) -> _Kind:
    if isinstance(connection, Connection | AsyncConnection):
        return _Kind("psycopg", isinstance(connection, AsyncConnection))
    modules = [cls.__module__ for cls in type(connection).__mro__]
    packages = {module.partition(".")[0] for module in modules}
    if "sqlalchemy" in packages and hasattr(connection, "execute"):
        return _Kind("sqlalchemy", any(module.startswith("sqlalchemy.ext.asyncio") for module in modules))
    if "django" in packages and hasattr(connection, "cursor"):
        return _Kind("django", False)
    if "asyncpg" in packages and hasattr(connection, "fetch") and not hasattr(connection, "acquire"):
        return _Kind("asyncpg", True)
    raise InvalidInput(
        f"{_name(connection)} is not a connection that a job can be written through: pass an open connection "
        "of psycopg 3, SQLAlchemy (Connection or Session), Django or asyncpg, not an engine, pool or cursor"
        + ("; psycopg2 works through SQLAlchemy" if "psycopg2" in packages else "")
    )


def _name(connection: object) -> str:
    cls = type(connection)
    return f"{cls.__module__}.{cls.__qualname__}"


def _run_psycopg(connection: Any, call: Call[Any]) -> Rows:
    # The row factory is named, because the connection's own may make something else of a row; in binary,
    # because the session's settings say how a time is written in text, and the driver reads one way only.
    with RawCursor(connection, row_factory=tuple_row) as cursor:
        cursor.execute(call.text.encode(), call.values, binary=True)
        return cursor.fetchall()


async def _run_psycopg_async(connection: Any, call: Call[Any]) -> Rows:
    async with AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(call.text.encode(), call.values, binary=True)
        return await cursor.fetchall()


def _run_sqlalchemy(connection: Any, call: Call[Any]) -> Rows:
    rows: Rows = connection.execute(*_sqlalchemy_statement(connection, call)).all()
    return rows


async def _run_sqlalchemy_async(connection: Any, call: Call[Any]) -> Rows:
    rows: Rows = (await connection.execute(*_sqlalchemy_statement(connection, call))).all()
    return rows


def _sqlalchemy_statement(connection: Any, call: Call[Any]) -> tuple[Any, dict[str, Any]]:
    from sqlalchemy import text

    # In parentheses, because a name with a colon behind it, as before a cast, is not taken for a parameter.
    statement = text(_NUMBER.sub(r"(:value_\1)", _LONE_COLON.sub(r"\\:", call.text)))
    # asyncpg takes the types that the casts ask for, and no text instead.
    values = call.values if _dialect(connection).driver == "asyncpg" else map(_plain, call.values)
    return statement, {f"value_{place}": value for place, value in enumerate(values, 1)}


def _dialect(connection: Any) -> Any:
    return connection.dialect if hasattr(connection, "dialect") else connection.get_bind().dialect


def _run_django(connection: Any, call: Call[Any]) -> Rows:
    text = _NUMBER.sub("%s", call.text.replace("%", "%%"))
    with connection.cursor() as cursor:
        cursor.execute(text, [_plain(value) for value in call.values])
        rows: Rows = cursor.fetchall()
    return rows


async def _run_asyncpg(connection: Any, call: Call[Any]) -> Rows:
    rows: Rows = await connection.fetch(call.text, *call.values)
    return rows


def _plain(value: Any) -> Any:
    """A value that every driver can send: what it is, the casts in the call's text say."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _check_postgres(vendor: str) -> None:
    if vendor != "postgresql":
        raise InvalidInput(f"the connection leads to {vendor}; jobs are kept in PostgreSQL")


_VENDOR: Mapping[Stack, Callable[[Any], str]] = {
    "sqlalchemy": lambda connection: _dialect(connection).name,
    "django": lambda connection: connection.vendor,
}
_RUN: Mapping[Stack, Callable[[Any, Call[Any]], Rows]] = {
    "psycopg": _run_psycopg,
    "sqlalchemy": _run_sqlalchemy,
    "django": _run_django,
}
_RUN_ASYNC: Mapping[Stack, Callable[[Any, Call[Any]], Awaitable[Rows]]] = {
    "psycopg": _run_psycopg_async,
    "sqlalchemy": _run_sqlalchemy_async,
    "asyncpg": _run_asyncpg,
}


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except WindlassError:
        raise
    except Exception as error:
        ours = _translate(error)
        if ours is None:
            raise  # what the stack says about itself, such as a session that must be rolled back first
        raise ours from error


def _translate(error: BaseException) -> WindlassError | None:
    """What the database answered, found behind whatever the stack wrapped around it."""
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, psycopg.Error):
            return translate(behind)
        if isinstance(behind, UnicodeEncodeError):
            return unstorable(behind)
        sqlstate = getattr(behind, "sqlstate", None) or getattr(behind, "pgcode", None)
        if isinstance(sqlstate, str):
            return _from_answer(sqlstate, behind)
        inner = getattr(behind, "orig", None)
        behind = inner if isinstance(inner, BaseException) else behind.__cause__
    return None


def _from_answer(sqlstate: str, error: BaseException) -> WindlassError:
    # The adapters of SQLAlchemy repeat asyncpg's state but not its message; the cause has both.
    if isinstance(error.__cause__, BaseException) and hasattr(error.__cause__, "sqlstate"):
        error = error.__cause__
    diag = getattr(error, "diag", None)
    message = getattr(error, "message", None) or getattr(diag, "message_primary", None) or str(error)
    detail = getattr(error, "detail", None) or getattr(diag, "message_detail", None)
    hint = getattr(error, "hint", None) or getattr(diag, "message_hint", None)
    return from_sqlstate(sqlstate, message, {**({"hint": hint} if hint else {}), **_named(detail)})


def _named(detail: str | None) -> dict[str, Any]:
    if not detail:
        return {}
    try:
        named = json.loads(detail)
    except ValueError:
        named = None
    return named if isinstance(named, dict) else {"detail": detail}
