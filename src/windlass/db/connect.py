"""How Windlass opens connections, and what its callers see when the database refuses or fails.

Nothing here is set per session beyond what libpq sends at start-up, so that every connection
also works through a pooler that hands it to somebody else after each transaction.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import psycopg
from psycopg.conninfo import conninfo_to_dict

from windlass.db.hot import AsyncOurConnection, OurConnection
from windlass.db.sqlstates import READ_ONLY, from_sqlstate
from windlass.db.wire import OurTypes
from windlass.errors import InvalidInput, WindlassError
from windlass.model.names import describe_unstorable

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


def connection_parameters(
    url: str, *, application_name: str = "windlass", environ: Mapping[str, str] | None = None
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
    return {**defaults, "application_name": application_name, **given, "client_encoding": "UTF8"}


def driver_options(pooler: Pooler) -> dict[str, Any]:
    """What psycopg is told beside the libpq keywords.

    Behind a transaction pooler the next statement may run on another server connection, where
    a statement prepared on this one does not exist: so nothing is prepared there.
    """
    unprepared = {"prepare_threshold": None} if pooler == "transaction" else {}
    return {"autocommit": True, "context": OurTypes(), **unprepared}


def connect(url: str, *, pooler: Pooler = "none", application_name: str = "windlass") -> OurConnection:
    """An open connection in autocommit mode."""
    parameters: dict[str, Any] = {**connection_parameters(url, application_name=application_name)}
    with translated():
        return OurConnection.connect(**parameters, **driver_options(pooler))


async def connect_async(
    url: str, *, pooler: Pooler = "none", application_name: str = "windlass"
) -> AsyncOurConnection:
    """An open asyncio connection in autocommit mode."""
    parameters: dict[str, Any] = {**connection_parameters(url, application_name=application_name)}
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
    """The refusal of text that is not Unicode, such as a file name that nobody could decode."""
    found = describe_unstorable(error.object[error.start])
    return InvalidInput(f"the database cannot store text that contains {found}")


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into ours; serves synchronous and asynchronous blocks alike."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
    except UnicodeEncodeError as error:  # the driver's own, before anything is sent
        raise unstorable(error) from None
