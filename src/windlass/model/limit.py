"""Limits: how many jobs of a scope run, start and wait, and what they may cost."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.names import as_number, check_kind, check_queue, shown
from windlass.model.row import FromRow

__all__ = ["LIMITED", "BudgetPeriod", "Limit", "NewLimit"]

BudgetPeriod = Literal["hour", "day", "week", "month"]
LIMITED = ("concurrency", "rate", "depth", "budget")
"""What a limit may be about."""

MAX_RUNNING = 2**31 - 1
MAX_RATE = 1_000_000_000
MAX_RATE_SECONDS = 31_536_000.0
MAX_DEPTH = 10_000_000
MAX_BUDGET_CENTS = 2**63 - 1
_WHOLE = {
    "concurrency": (0, MAX_RUNNING),
    "rate": (1, MAX_RATE),
    "burst": (1, MAX_RATE),
    "depth": (0, MAX_DEPTH),
    "budget_cents": (0, MAX_BUDGET_CENTS),
    "warn_cents": (0, MAX_BUDGET_CENTS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(FromRow):
    """What is limited in one scope, and how much of it is used now.

    A role bound to a tenant is not told what others use of a limit that they share: that is None.
    """

    id: int
    tenant_id: UUID | None = None
    tenant: str | None = None
    """The tenant's slug."""
    queue: str | None = None
    kind: str | None = None
    concurrency: int | None = None
    running: int | None = None
    rate: int | None = None
    """So many starts ..."""
    rate_seconds: float | None = None
    """... in so many seconds."""
    burst: int | None = None
    tokens: float | None = None
    """How many could start at once now, by the rate."""
    depth: int | None = None
    waiting: int | None = None
    """How many wait; counted to one more than the depth at most."""
    budget_cents: int | None = None
    warn_cents: int | None = None
    budget_period: BudgetPeriod | None = None
    spent_cents: int | None = None
    again_at: datetime | None = None
    """When time alone makes room again, where rate or budget leave none."""
    reason: str = ""
    actor: str = ""
    changed_at: datetime | None = None
    read_at: datetime | None = None
    """When this was so, by the database's clock."""

    @property
    def scope(self) -> str:
        """What is limited, in words: `everything`, or for instance `tenant acme, kind import`."""
        parts = {"tenant": self.tenant or self.tenant_id, "queue": self.queue, "kind": self.kind}
        return ", ".join(f"{part} {name}" for part, name in parts.items() if name is not None) or "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLimit:
    """What is to be limited; a field that is None stays as it was.

    `rate` jobs may start in each `per` (seconds or a timedelta; one second unless given), at most `burst`
    of them at once (as many as the rate unless given).  Budgets are whole cents for each `budget_period`
    of UTC (a day unless given).
    """

    queue: str | None = None
    kind: str | None = None
    concurrency: int | None = None
    rate: int | None = None
    per: float | timedelta | None = None
    burst: int | None = None
    depth: int | None = None
    budget_cents: int | None = None
    warn_cents: int | None = None
    budget_period: BudgetPeriod | None = None

    def __post_init__(self) -> None:
        if self.queue is not None:
            check_queue(self.queue)
        if self.kind is not None:
            check_kind(self.kind)
        for name, (least, most) in _WHOLE.items():
            _check_whole(name, getattr(self, name), least, most)
        if self.per is not None:
            object.__setattr__(self, "per", _seconds(self.per))
        if self.budget_period is not None and self.budget_period not in get_args(BudgetPeriod):
            known = ", ".join(get_args(BudgetPeriod))
            raise InvalidInput(f"the budget_period must be one of {known}, not {shown(self.budget_period)}")
        if None not in (self.warn_cents, self.budget_cents) and (self.warn_cents or 0) > (
            self.budget_cents or 0
        ):
            raise InvalidInput("a warning must come before the budget is spent: warn_cents is too large")

    @property
    def rate_seconds(self) -> float | None:
        return self.per.total_seconds() if isinstance(self.per, timedelta) else self.per


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if value is None:
        return
    what = "whole cents" if name.endswith("_cents") else "a whole number"
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be {what}, not {shown(value)}")
    if not least <= value <= most:
        raise InvalidInput(f"{name} must be from {least} to {most}, not {shown(value)}")


def _seconds(value: object) -> float:
    number = as_number(value.total_seconds() if isinstance(value, timedelta) else value)
    if number is None:
        raise InvalidInput(f"per must be a number of seconds or a timedelta, not {shown(value)}")
    if not 0.001 <= number <= MAX_RATE_SECONDS:
        raise InvalidInput(f"per must be from 0.001 to {MAX_RATE_SECONDS:.0f} seconds, not {shown(value)}")
    return number
