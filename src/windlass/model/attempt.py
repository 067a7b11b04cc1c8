"""One execution of a job: an attempt, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from windlass.model.row import FromRow


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    CANCELED = "canceled"
    SNOOZED = "snoozed"
    RELEASED = "released"
    SKIPPED = "skipped"

    @property
    def counted(self) -> bool:
        """Whether such an attempt counts toward the job's `max_attempts`."""
        return self not in (Outcome.SNOOZED, Outcome.RELEASED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(FromRow):
    """The record of one attempt; `outcome` is None while it is running."""

    job_id: UUID
    number: int
    started_at: datetime
    node_id: UUID | None = None
    finished_at: datetime | None = None
    outcome: Outcome | None = None
    error: Mapping[str, Any] | None = None
    result: Any = None
    cost_cents: int = 0
    counted: int = 0
    """Attempts that count toward `max_attempts`, up to and with this one."""
    ends: str | None = None
    """The state in which this attempt ended its job; None if the job went on."""
    node_name: str | None = None
    """What its node is called; None if nobody knows that any more, or not who asks."""

    def __post_init__(self) -> None:
        if self.outcome is not None:
            object.__setattr__(self, "outcome", Outcome(self.outcome))

    @property
    def running(self) -> bool:
        return self.outcome is None
