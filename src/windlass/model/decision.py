"""What a handler may return instead of a result, to decide what becomes of its job."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from windlass.errors import InvalidInput
from windlass.model.failure import exception_text
from windlass.model.names import MAX_REASON_BYTES, as_number, shown, storable_text
from windlass.model.new_job import check_moment
from windlass.model.retry import MAX_DELAY_SECONDS


@dataclass(frozen=True, slots=True)
class Snooze:
    """Run again later; this attempt does not count.

    `Snooze(30)`, `Snooze(timedelta(minutes=5))` or `Snooze(until=moment)`.
    """

    seconds: float | timedelta | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.until is None):
            raise InvalidInput("Snooze takes either a number of seconds or until, and not both")
        if self.seconds is not None:
            object.__setattr__(self, "seconds", _seconds("Snooze", self.seconds))
        if self.until is not None:
            check_moment(self.until, "Snooze until")

    @property
    def delay_seconds(self) -> float | None:
        """The delay as a number, or None when `until` is given."""
        return self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds


@dataclass(frozen=True, slots=True, init=False)
class RetryAfter:
    """This attempt failed; try again after so many seconds, whatever the retry policy says."""

    seconds: float | timedelta
    reason: str = ""

    def __init__(self, seconds: float | timedelta, reason: str | BaseException | None = "") -> None:
        object.__setattr__(self, "seconds", _seconds("RetryAfter", seconds))
        object.__setattr__(self, "reason", _reason("RetryAfter", reason))

    @property
    def delay_seconds(self) -> float:
        return self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds


@dataclass(frozen=True, slots=True, init=False)
class Cancel:
    """The job is no longer wanted: end it as canceled."""

    reason: str = ""

    def __init__(self, reason: str | BaseException | None = "") -> None:
        object.__setattr__(self, "reason", _reason("Cancel", reason))


@dataclass(frozen=True, slots=True, init=False)
class Skip:
    """There was nothing to do: end the job as skipped."""

    reason: str = ""

    def __init__(self, reason: str | BaseException | None = "") -> None:
        object.__setattr__(self, "reason", _reason("Skip", reason))


Decision: TypeAlias = Snooze | RetryAfter | Cancel | Skip


def _seconds(what: str, value: object) -> float:
    number = as_number(value.total_seconds() if isinstance(value, timedelta) else value)
    if number is None:
        raise InvalidInput(f"{what} takes a number of seconds or a timedelta, not {shown(value)}")
    if not 0 <= number <= MAX_DELAY_SECONDS:
        raise InvalidInput(f"{what} takes from 0 seconds to ten years, not {shown(value)}")
    return number


def _reason(what: str, value: object) -> str:
    """As text, of an exception what it says: the likeliest reason there is."""
    text = exception_text(value) if isinstance(value, BaseException) else "" if value is None else value
    if not isinstance(text, str):
        raise InvalidInput(f"{what} takes a text or an exception as the reason, not {shown(value)}")
    return storable_text(text, MAX_REASON_BYTES)
