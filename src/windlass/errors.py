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
