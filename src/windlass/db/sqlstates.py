"""What the database answers, as one of our errors."""

import re
from collections.abc import Mapping
from typing import Any

from windlass.errors import (
    ERROR_CLASSES,
    Forbidden,
    InvalidInput,
    SchemaMismatch,
    Unavailable,
    WindlassError,
)

__all__ = ["NOT_INSTALLED", "OTHER_RELEASE", "OUTSIDER", "READ_ONLY", "from_sqlstate"]

# What PostgreSQL itself may answer: a whole class by its two letters, or one state by its five.
_POSTGRES_STATES: Mapping[str, type[WindlassError]] = {
    "08": Unavailable,  # connection lost or refused
    "40": Unavailable,  # serialization failure, deadlock
    "53": Unavailable,  # out of connections, memory, disk
    "57": Unavailable,  # shutdown, crash, statement canceled
    "26000": Unavailable,  # a prepared statement is gone: a pooler gave the session to somebody else
    "42P05": Unavailable,  # one of that name is there: it was somebody else's session before
    "25006": Unavailable,  # read only: a standby, in the middle of a failover
    "25P02": InvalidInput,  # somebody's transaction, in which a statement failed before
    "25P03": Unavailable,  # idle in transaction for too long
    "55P03": Unavailable,  # lock not available in time
    "28": Forbidden,  # login refused
    "42501": Forbidden,  # privilege missing
    "3D000": SchemaMismatch,  # no such database
    "3F000": SchemaMismatch,  # no such schema
    "42P01": SchemaMismatch,  # no such table
    "42703": SchemaMismatch,  # no such column
    "42883": SchemaMismatch,  # no such function
    "0A000": SchemaMismatch,  # a result type changed under a prepared statement
    "22003": InvalidInput,  # a number out of range
    "22007": InvalidInput,  # not a time
    "22008": InvalidInput,  # a time out of range
    "22021": InvalidInput,  # not valid text
    "22P02": InvalidInput,  # not a uuid, a number, JSON
    "22P03": InvalidInput,  # a value of another type than its parameter
    "42846": InvalidInput,  # the same, of a type that nothing makes it of
    "22P05": InvalidInput,  # NUL in JSON
    "54": InvalidInput,  # too large or too deep for the server
}

OUTSIDER = (
    "the connected role may not use Windlass: grant it windlass_producer, windlass_worker, "
    "windlass_operator or windlass_reader"
)
NOT_INSTALLED = "Windlass is not installed in this database: run `windlass migrate`"
OTHER_RELEASE = (
    "the functions in the database are not those of this release: "
    "run `windlass migrate`, or upgrade windlass if a newer release migrated it"
)
POOLED = (
    "A transaction pooler seems to stand before the server: set WINDLASS_POOLER=transaction, "
    "and WINDLASS_LISTEN_URL to a direct connection."
)
ABORTED = "the transaction is aborted already: roll it back, for nothing can be done in it any more"
READ_ONLY = (
    "A standby takes no writes, and neither does a session whose transactions are read-only: connect to the "
    "primary, or, if default_transaction_read_only is on, reset it (alter role … reset "
    "default_transaction_read_only; or for the database, or the server)."
)
UNSECURED = (
    "the setting row_security is off for this login: with it PostgreSQL refuses every call of Windlass"
)
# Every group may use both schemas.
_WITHOUT_GROUP = re.compile(r"permission denied for schema windlass(_data)?")
# What is missing of ours, and what that means; the sentence of the server stays in the details.
_MISSING: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("3F000", re.compile(r'schema "windlass(_data)?" does not exist'), NOT_INSTALLED),
    ("42883", re.compile(r"function windlass\.\w+\(.*\) does not exist"), OTHER_RELEASE),
)
_ROW_SECURITY_OFF = ("query would be affected by row-level security policy", "NO FORCE ROW LEVEL SECURITY")


def from_sqlstate(
    sqlstate: str | None, message: str, details: Mapping[str, Any] | None = None
) -> WindlassError:
    """The error for what the database answered; no state at all means that it did not answer.

    A state that nobody foresaw becomes the root error and keeps its sqlstate in `details`.
    """
    known = {str(name): value for name, value in (details or {}).items()}
    if sqlstate is None:
        return Unavailable(_on_one_line(message), **known)
    for cls in ERROR_CLASSES:
        if cls.sqlstate == sqlstate:
            return cls(message, **known)
    if sqlstate == "42501" and _WITHOUT_GROUP.fullmatch(message):
        message, known = OUTSIDER, {"hint": "`windlass doctor` says what the role is and may do.", **known}
    for state, pattern, meaning in _MISSING:
        if sqlstate == state and pattern.fullmatch(message):
            message, known = meaning, {"detail": message, **known}
    if sqlstate == "42501" and any(text in f"{message} {known.get('hint')}" for text in _ROW_SECURITY_OFF):
        # PostgreSQL's own hint is how to take the wall between tenants down, and is never passed on.
        message, known = UNSECURED, {**known, "hint": "alter role … reset row_security;"}
    if sqlstate == "25P02":
        message, known = ABORTED, {"detail": message, **known}
    if sqlstate in ("26000", "42P05"):
        known = {"hint": POOLED, **known}
    if sqlstate == "25006":
        known = {"hint": READ_ONLY, **known}
    found = _POSTGRES_STATES.get(sqlstate) or _POSTGRES_STATES.get(sqlstate[:2], WindlassError)
    return found(message, **{"sqlstate": sqlstate, **known})


def _on_one_line(message: str) -> str:
    """What libpq spreads over lines, as a line of a log or a field of JSON has it."""
    told = ""
    for line in filter(None, map(str.strip, message.splitlines())):
        told += line if not told else f" {line}" if told[-1] in ".:;?!" else f"; {line}"
    return told
