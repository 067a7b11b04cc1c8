"""How Windlass opens connections, and what its callers see when the database refuses or fails.

Nothing here is set per session beyond what libpq sends at start-up, so that every connection
also works through a pooler that hands it to somebody else after each transaction.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal

import psycopg
from psycopg.conninfo import conninfo_to_dict

from windlass.db.hot import AsyncOurConnection, OurConnection
from windlass.db.sqlstates import READ_ONLY, from_sqlstate
from windlass.db.startup import in_read_committed
from windlass.db.wire import OurTypes
from windlass.errors import InvalidInput, WindlassError
from windlass.model.names import describe_unstorable, find_unstorable, with_article

__all__ = [
    "Pooler",
    "connect",
    "connect_async",
    "connection_parameters",
    "driver_options",
    "translate",
    "translated",
    "unstorable",
]

Pooler = Literal["none", "transaction"]

# libpq keyword, the environment variable that also sets it, our default.  A peer that vanishes
# without a word is noticed within about half a minute; a standby is never taken for the primary.
_DEFAULTS: tuple[tuple[str, str | None, str], ...] = (
    ("connect_timeout", "PGCONNECT_TIMEOUT", "10"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS", "read-write"),
    ("keepalives_idle", None, "15"),
    ("keepalives_interval", None, "5"),
    ("keepalives_count", None, "3"),
    ("tcp_user_timeout", None, "30000"),
)

# Whoever is refused at the door is told no state, only a sentence.  In a language that is not known here it
# is taken for an outage, which costs a client its patience and nothing else.
_REFUSED = re.compile(
    "does not exist|authentication failed|no password supplied|no pg_hba.conf entry|not permitted to log in"
    "|permission denied for database"
)

_NO_VALUE = re.compile(r"cannot adapt type '(.+)' using")


def connection_parameters(
    url: str,
    *,
    pooler: Pooler = "none",
    application_name: str = "windlass",
    environ: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The libpq keywords for `url`, with our defaults where neither it nor the environment speaks."""
    environ = os.environ if environ is None else environ
    try:
        given = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.ProgrammingError:
        # Not chained: the driver's own sentence quotes the text it could not read, password included.
        raise InvalidInput("the database URL is not a PostgreSQL URL or connection string") from None
    defaults = {
        key: value for key, variable, value in _DEFAULTS if variable is None or variable not in environ
    }
    ours = in_read_committed(given, environ) if pooler == "none" else {}
    return {**defaults, "application_name": application_name, **given, **ours, "client_encoding": "UTF8"}


def driver_options(pooler: Pooler) -> dict[str, Any]:
    """What psycopg is told beside the libpq keywords.

    Behind a transaction pooler the next statement may run on another server connection, where
    a statement prepared on this one does not exist: so nothing is prepared there.
    """
    unprepared = {"prepare_threshold": None} if pooler == "transaction" else {}
    return {"autocommit": True, "context": OurTypes(), **unprepared}


def connect(url: str, *, pooler: Pooler = "none", application_name: str = "windlass") -> OurConnection:
    """An open connection in autocommit mode."""
    named = connection_parameters(url, pooler=pooler, application_name=application_name)
    parameters: dict[str, Any] = {**named}
    with translated():
        return OurConnection.connect(**parameters, **driver_options(pooler))


async def connect_async(
    url: str, *, pooler: Pooler = "none", application_name: str = "windlass"
) -> AsyncOurConnection:
    """An open asyncio connection in autocommit mode."""
    named = connection_parameters(url, pooler=pooler, application_name=application_name)
    parameters: dict[str, Any] = {**named}
    with translated():
        return await AsyncOurConnection.connect(**parameters, **driver_options(pooler))


def translate(error: psycopg.Error) -> WindlassError:
    """The Windlass error that says the same as the driver's.

    A DETAIL that holds a JSON object is how our own functions hand over named details.
    """
    message = error.diag.message_primary or str(error) or type(error).__name__
    if error.sqlstate is not None:
        return from_sqlstate(error.sqlstate, message, _details(error))
    if isinstance(error, psycopg.OperationalError):
        return from_sqlstate(None, message, _known_refusal(message))
    if isinstance(error, psycopg.DataError):
        return InvalidInput(message)
    if found := _NO_VALUE.match(message):
        return InvalidInput(f"{with_article(found[1])} is no value that the database could take here")
    return WindlassError(message)


def _known_refusal(message: str) -> dict[str, Any]:
    if "session is read-only" in message:  # what target_session_attrs found there
        return {"hint": READ_ONLY}
    return {"lasting": True} if _REFUSED.search(message) else {}


def _details(error: psycopg.Error) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if error.diag.message_hint:
        details["hint"] = error.diag.message_hint
    text = error.diag.message_detail
    if not text:
        return details
    try:
        named = json.loads(text)
    except ValueError:
        named = None
    return {**details, **named} if isinstance(named, dict) else {**details, "detail": text}


def unstorable(error: UnicodeEncodeError) -> InvalidInput:
    """The refusal of text that is not Unicode, such as a file name that nobody could decode.

    On somebody's own connection it may be that this carries another character set, and less than Unicode.
    """
    character = error.object[error.start]
    if find_unstorable(character) is None:
        return InvalidInput(
            f"the client_encoding of the connection ({error.encoding}) cannot carry text that contains "
            f"U+{ord(character):04X}",
            hint="set client_encoding to 'UTF8';",
        )
    return InvalidInput(f"the database cannot store text that contains {describe_unstorable(character)}")


class _Translated:
    """Not a generator: this is on the way of every call."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, psycopg.Error):
            raise translate(error) from error
        if isinstance(error, UnicodeEncodeError):  # the driver's own, before anything is sent
            raise unstorable(error) from None


_TRANSLATED = _Translated()


def translated() -> AbstractContextManager[None]:
    """Turn the driver's errors into ours; serves synchronous and asynchronous blocks alike."""
    return _TRANSLATED
