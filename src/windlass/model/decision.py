"""What a handler may return instead of a result, to decide what becomes of its job."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from windlass.errors import InvalidInput
from windlass.model.names import MAX_REASON_BYTES, storable_text
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
        if self.until is not None and self.until.tzinfo is None:
            raise InvalidInput("Snooze until needs a time with its time zone")

    @property
    def delay_seconds(self) -> float | None:
        """The delay as a number, or None when `until` is given."""
        return self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """This attempt failed; try again after so many seconds, whatever the retry policy says."""

    seconds: float | timedelta
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", _seconds("RetryAfter", self.seconds))
        object.__setattr__(self, "reason", storable_text(self.reason, MAX_REASON_BYTES))

    @property
    def delay_seconds(self) -> float:
        return self.seconds.total_seconds() if isinstance(self.seconds, timedelta) else self.seconds


@dataclass(frozen=True, slots=True)
class Cancel:
    """The job is no longer wanted: end it as canceled."""

    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", storable_text(self.reason, MAX_REASON_BYTES))


@dataclass(frozen=True, slots=True)
class Skip:
    """There was nothing to do: end the job as skipped."""

    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", storable_text(self.reason, MAX_REASON_BYTES))


Decision: TypeAlias = Snooze | RetryAfter | Cancel | Skip


def _seconds(what: str, value: float | timedelta) -> float:
    number: object = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or math.isnan(number):
        raise InvalidInput(f"{what} takes a number of seconds or a timedelta, not {value!r}")
    if not 0 <= number <= MAX_DELAY_SECONDS:
        raise InvalidInput(f"{what} takes from 0 seconds to ten years, not {value!r}")
    return float(number)
