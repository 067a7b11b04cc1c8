"""When a failed job runs again: a retry policy is a value.

The n-th counted failure waits `base * factor ** (n - 1)` seconds, at most `cap`, spread by jitter:
`none` waits exactly that, `tenth` up to a tenth longer, `full` anything from nothing up to it.
The database computes the same bounds for itself.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from windlass.errors import InvalidInput
from windlass.model.names import as_number, shown

Jitter = Literal["none", "tenth", "full"]

DEFAULT_MAX_ATTEMPTS = 5
MAX_MAX_ATTEMPTS = 32_767
MAX_DELAY_SECONDS = 10 * 365 * 86_400.0
"""Ten years: no delay is longer, even without a cap, so that no date overflows."""
MIN_BASE_SECONDS = 1e-6
"""The resolution of the database's clock."""
MAX_NUMBER = 1e15
"""What the database takes for any number of a policy; every delay is cut to ten years long before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How long to wait after each failure, and how many attempts there are in all."""

    base_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float | None = 3600.0
    jitter: Jitter = "full"
    max_attempts: int = DEFAULT_MAX_ATTEMPTS

    def __post_init__(self) -> None:
        _check_seconds("base_seconds", self.base_seconds)
        factor = _finite("factor", self.factor)
        if factor < 1:
            raise InvalidInput(f"factor must be at least 1, not {self.factor}")
        _check_largest("factor", factor)
        if self.cap_seconds is not None:
            _check_seconds("cap_seconds", self.cap_seconds)
        if self.jitter not in get_args(Jitter):
            raise InvalidInput(f"jitter must be none, tenth or full, not {shown(self.jitter)}")
        check_max_attempts(self.max_attempts)

    def delay_bounds(self, n: int) -> tuple[float, float]:
        """The shortest and the longest wait in seconds after the n-th counted failure."""
        raw = self._raw_delay(n)
        if self.jitter == "none":
            return raw, raw
        if self.jitter == "tenth":
            return raw, min(1.1 * raw, MAX_DELAY_SECONDS)
        return 0.0, raw

    def delay(self, n: int, source: random.Random) -> float:
        """One wait in seconds after the n-th counted failure, drawn evenly from its bounds."""
        low, high = self.delay_bounds(n)
        return min(high, low + (high - low) * source.random())

    def _raw_delay(self, n: int) -> float:
        if n < 1:
            raise InvalidInput(f"failures are counted from 1, not {n}")
        base = float(self.base_seconds)
        limit = min(MAX_DELAY_SECONDS, MAX_DELAY_SECONDS if self.cap_seconds is None else self.cap_seconds)
        if base == 0 or limit == 0:
            return 0.0
        steps = float(min(n - 1, 2**63))
        # Compare logarithms first: the power itself would overflow.  The margin of 1 leaves every
        # close case to the exact comparison below.
        if steps * math.log(self.factor) > math.log(limit) - math.log(base) + 1:
            return float(limit)
        return float(min(limit, base * self.factor**steps))

    def to_json(self) -> dict[str, float | str | None]:
        """The policy as stored with a job; `max_attempts` has a column of its own."""
        return {
            "base": self.base_seconds,
            "factor": self.factor,
            "cap": self.cap_seconds,
            "jitter": self.jitter,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], *, max_attempts: int = DEFAULT_MAX_ATTEMPTS) -> Self:
        """The policy that `to_json` gave; every key must be there, and no other."""
        expected = {"base", "factor", "cap", "jitter"}
        if set(stored) != expected:
            raise InvalidInput(f"a retry policy has the keys base, cap, factor, jitter, not {sorted(stored)}")
        return cls(
            base_seconds=stored["base"],
            factor=stored["factor"],
            cap_seconds=stored["cap"],
            jitter=stored["jitter"],
            max_attempts=max_attempts,
        )


def check_max_attempts(value: object) -> int:
    """`value` itself, if a job may have that many attempts."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_MAX_ATTEMPTS:
        raise InvalidInput(
            f"max_attempts must be a whole number from 1 to {MAX_MAX_ATTEMPTS}, not {shown(value)}"
        )
    return value


def _check_seconds(name: str, value: object) -> None:
    number = _finite(name, value)
    if number != 0 and number < MIN_BASE_SECONDS:
        raise InvalidInput(f"{name} must be 0 or at least {MIN_BASE_SECONDS:f}, not {number}")
    _check_largest(name, number)


def _check_largest(name: str, number: float) -> None:
    if number > MAX_NUMBER:
        raise InvalidInput(f"{name} must be at most {MAX_NUMBER:g}, not {number:g}")


def _finite(name: str, value: object) -> float:
    number = as_number(value)
    if number is None and not isinstance(value, float):
        raise InvalidInput(f"{name} must be a number, not {shown(value)}")
    if number is None or math.isinf(number):
        raise InvalidInput(f"{name} must be a finite number")
    return number


RETRY_PRESETS: Mapping[str, RetryPolicy] = MappingProxyType(
    {
        "default": RetryPolicy(),
        # 2 s, 4 s, 8 s … without end, each up to a tenth longer.
        "doubling_uncapped": RetryPolicy(base_seconds=2.0, cap_seconds=None, jitter="tenth"),
        # 1 s, 2 s, 4 s … up to an hour, to the second.
        "doubling_to_an_hour": RetryPolicy(jitter="none"),
        # 10 s, 20 s, 40 s: three retries, to the second.
        "doubling_from_ten_seconds": RetryPolicy(
            base_seconds=10.0, cap_seconds=None, jitter="none", max_attempts=4
        ),
        # Anything up to 1 s, 2 s, 4 s … 30 s: three retries that never come in step.
        "full_jitter_to_half_a_minute": RetryPolicy(cap_seconds=30.0, max_attempts=4),
    }
)


def retry_preset(name: str) -> RetryPolicy:
    """The policy of that name."""
    try:
        return RETRY_PRESETS[name]
    except KeyError:
        known = ", ".join(RETRY_PRESETS)
        raise InvalidInput(f"there is no retry preset {shown(name)}; there are {known}") from None


def as_policy(given: RetryPolicy | str | None) -> RetryPolicy | None:
    """The policy that is meant: one, or the name of a preset; None where nothing was said."""
    if isinstance(given, str):
        return retry_preset(given)
    if not isinstance(given, RetryPolicy | None):
        raise InvalidInput(f"retry is a RetryPolicy or the name of a preset, not {shown(given)}")
    return given
