"""Every error of Windlass, with the one code that SQL, Python and HTTP share.

    WindlassError                     internal               –
    ├── NotFound                      not_found              WL001  404  stop
    ├── IdempotencyConflict           idempotency_conflict   WL002  409  fix
    ├── LeaseLost                     lease_lost             WL003  409  let_go
    ├── InvalidTransition             invalid_transition     WL004  409  re-read
    ├── Forbidden                     forbidden              WL005  403  fix
    ├── LimitExceeded                 limit_exceeded         WL006  429  wait
    ├── InvalidInput                  invalid_input          WL007  422  fix
    ├── NotLeader                     not_leader             WL008  409  redirect
    ├── Unavailable                   unavailable            –      503  retry
    ├── SchemaMismatch                schema_mismatch        –      503  upgrade
    ├── UnknownKind                   unknown_kind           –      –    leave_queued
    ├── JobFailed                     job_failed             –      –    stop
    └── WaitTimeout                   wait_timeout           –      –    retry

The columns are class, `code`, `sqlstate`, `http_status` and `advice`: what the caller should do.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

__all__ = [
    "ERROR_CLASSES",
    "Advice",
    "Forbidden",
    "IdempotencyConflict",
    "InvalidInput",
    "InvalidTransition",
    "JobFailed",
    "LeaseLost",
    "LimitExceeded",
    "NotFound",
    "NotLeader",
    "SchemaMismatch",
    "Unavailable",
    "UnknownKind",
    "WaitTimeout",
    "WindlassError",
    "from_sqlstate",
]

Advice = Literal["stop", "fix", "let_go", "re-read", "wait", "retry", "upgrade", "redirect", "leave_queued"]


class WindlassError(Exception):
    """The root: one sentence for people, `code` and `details` for programs."""

    code: ClassVar[str] = "internal"
    sqlstate: ClassVar[str | None] = None
    http_status: ClassVar[int | None] = 500
    advice: ClassVar[Advice] = "stop"

    # Positional-only, so that a detail may be called "message" and unpickling needs no details.
    def __init__(self, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.details: Mapping[str, Any] = details

    @property
    def message(self) -> str:
        return str(self)


class NotFound(WindlassError):
    """There is no such thing, or it belongs to another tenant: the answer is the same."""

    code = "not_found"
    sqlstate = "WL001"
    http_status = 404
    advice = "stop"


class IdempotencyConflict(WindlassError):
    """The idempotency key is taken by a job with other content."""

    code = "idempotency_conflict"
    sqlstate = "WL002"
    http_status = 409
    advice = "fix"


class LeaseLost(WindlassError):
    """The token no longer holds the job: another attempt may be running, so let go."""

    code = "lease_lost"
    sqlstate = "WL003"
    http_status = 409
    advice = "let_go"


class InvalidTransition(WindlassError):
    """The job's present state does not allow this verb."""

    code = "invalid_transition"
    sqlstate = "WL004"
    http_status = 409
    advice = "re-read"


class Forbidden(WindlassError):
    """The role, or the tenant it is bound to, does not allow this."""

    code = "forbidden"
    sqlstate = "WL005"
    http_status = 403
    advice = "fix"


class LimitExceeded(WindlassError):
    """A limit is reached; `retry_after` is an estimate of the seconds after which there is room.

    It is known where the limit on depth has a rate too, and is what that rate takes; otherwise None.
    """

    code = "limit_exceeded"
    sqlstate = "WL006"
    http_status = 429
    advice = "wait"

    @property
    def retry_after(self) -> float | None:
        seconds = self.details.get("retry_after")
        return None if seconds is None else float(seconds)


class InvalidInput(WindlassError):
    """What was given cannot be accepted; asking again unchanged fails again."""

    code = "invalid_input"
    sqlstate = "WL007"
    http_status = 422
    advice = "fix"


class NotLeader(WindlassError):
    """Only the leader may do this; `leader` is its address, when one is known."""

    code = "not_leader"
    sqlstate = "WL008"
    http_status = 409
    advice = "redirect"

    @property
    def leader(self) -> str | None:
        address = self.details.get("leader")
        return None if address is None else str(address)


class Unavailable(WindlassError):
    """The database cannot be reached, or gave up this transaction; nothing is wrong with the request."""

    code = "unavailable"
    http_status = 503
    advice = "retry"

    @property
    def lasting(self) -> bool:
        """Whether somebody has to mend something first, such as an address that leads nowhere."""
        return bool(self.details.get("lasting"))


class SchemaMismatch(WindlassError):
    """The database's schema is not the one that this version of Windlass was written for."""

    code = "schema_mismatch"
    http_status = 503
    advice = "upgrade"


class UnknownKind(WindlassError):
    """No handler is registered here for the job's kind; a node that has one will take it."""

    code = "unknown_kind"
    http_status = None
    advice = "leave_queued"


class JobFailed(WindlassError):
    """The awaited job ended as dead, canceled or skipped."""

    code = "job_failed"
    http_status = None
    advice = "stop"

    @property
    def state(self) -> str:
        return str(self.details["state"])

    @property
    def error(self) -> Mapping[str, Any] | None:
        error: Mapping[str, Any] | None = self.details.get("error")
        return error

    @property
    def attempts(self) -> int:
        return int(self.details.get("attempts", 0))


class WaitTimeout(WindlassError):
    """The awaited job has not ended in the time given; it is still on its way."""

    code = "wait_timeout"
    http_status = None
    advice = "retry"


ERROR_CLASSES: tuple[type[WindlassError], ...] = (
    WindlassError,
    NotFound,
    IdempotencyConflict,
    LeaseLost,
    InvalidTransition,
    Forbidden,
    LimitExceeded,
    InvalidInput,
    NotLeader,
    Unavailable,
    SchemaMismatch,
    UnknownKind,
    JobFailed,
    WaitTimeout,
)

# What PostgreSQL itself may answer: a whole class by its two letters, or one state by its five.
_POSTGRES_STATES: Mapping[str, type[WindlassError]] = {
    "08": Unavailable,  # connection lost or refused
    "40": Unavailable,  # serialization failure, deadlock
    "53": Unavailable,  # out of connections, memory, disk
    "57": Unavailable,  # shutdown, crash, statement canceled
    "26000": Unavailable,  # a prepared statement is gone: a pooler gave the session to somebody else
    "42P05": Unavailable,  # one of that name is there: it was somebody else's session before
    "25006": Unavailable,  # read only: a standby, in the middle of a failover
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
        return Unavailable(message, **known)
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
    if sqlstate in ("26000", "42P05"):
        known = {"hint": POOLED, **known}
    if sqlstate == "25006":
        known = {"hint": READ_ONLY, **known}
    found = _POSTGRES_STATES.get(sqlstate) or _POSTGRES_STATES.get(sqlstate[:2], WindlassError)
    return found(message, **{"sqlstate": sqlstate, **known})
