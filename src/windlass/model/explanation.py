"""Why a job is not running now: every reason, with what would end it and when."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.model.row import FromRow

__all__ = ["Explanation", "Reason"]

_ENDED = frozenset({"succeeded", "dead", "canceled", "skipped"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(FromRow):
    """One reason; `code` is for programs and `says` for people."""

    code: str
    blocks: bool
    """No claim of any node takes the job while this holds."""
    says: str
    clears: str | None = None
    """What would end it."""
    clears_at: datetime | None = None
    """When, as far as time ends it; of a running job the end of its lease, of a line an estimate."""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All reasons in the order in which they bind, read at one moment of the database's clock."""

    job_id: UUID
    reasons: tuple[Reason, ...]
    read_at: datetime

    @property
    def blocking(self) -> tuple[Reason, ...]:
        """Those that keep every claim from taking it."""
        return tuple(reason for reason in self.reasons if reason.blocks)

    @property
    def claimable(self) -> bool:
        """Whether the next claim of a node that takes its queue and kind may take it."""
        return not self.blocking

    @property
    def running(self) -> bool:
        return self._first == "running"

    @property
    def ended(self) -> bool:
        """Whether it succeeded, died, was canceled or skipped."""
        return self._first in _ENDED

    @property
    def _first(self) -> str:
        return self.reasons[0].code if self.reasons else ""

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def __len__(self) -> int:
        return len(self.reasons)
