"""What jobs cost, in cents: one entry, and what entries add up to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.names import describe_unstorable, find_unstorable
from windlass.model.row import FromRow

__all__ = ["MAX_CENTS", "MAX_WHAT_LENGTH", "Cost", "CostEntry", "Costs", "check_cost"]

MAX_CENTS = 10**12
MAX_WHAT_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEntry(FromRow):
    """What somebody said that an attempt cost."""

    at: datetime
    attempt: int
    cents: int
    what: str | None = None
    """For what; None if it came with the outcome of the attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(FromRow):
    """A sum.  By what was not asked for is None."""

    cents: int
    entries: int
    tenant_id: UUID | None = None
    tenant: str | None = None
    """The tenant's slug."""
    queue: str | None = None
    kind: str | None = None
    day: date | None = None
    """A day of UTC."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cents", int(self.cents))


@dataclass(frozen=True, slots=True)
class Costs:
    """Sums, and the total over all of them, those beyond the limit included."""

    items: tuple[Cost, ...]
    cents: int = 0
    entries: int = 0
    more: bool = False
    """Whether there are more sums than were asked for."""

    def __iter__(self) -> Iterator[Cost]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def check_cost(cents: int, what: str) -> None:
    """Refuse what cannot be entered in the ledger."""
    given: object = cents
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= cents <= MAX_CENTS:
        raise InvalidInput(f"a cost is a whole number of cents from 0 to 10^12, not {cents!r}")
    purpose: object = what
    if not isinstance(purpose, str):
        raise InvalidInput(f"what a cost is for must be text, not {type(purpose).__name__}")
    if not what.strip() or len(what) > MAX_WHAT_LENGTH:
        raise InvalidInput(f"what a cost is for has 1 to {MAX_WHAT_LENGTH} characters, not {len(what)}")
    if found := find_unstorable(what):
        raise InvalidInput(f"what a cost is for contains {describe_unstorable(found)}")
