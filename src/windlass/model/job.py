"""A job as a reader sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from windlass.model.row import FromRow


class JobState(StrEnum):
    """A job is in exactly one of these."""

    BLOCKED = "blocked"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELED = "canceled"
    SKIPPED = "skipped"

    @property
    def terminal(self) -> bool:
        """Whether the job has ended; only a redrive brings a dead one back."""
        return self not in (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(FromRow):
    """One job, read at one moment of the database's clock (`read_at`)."""

    id: UUID
    tenant_id: UUID
    queue: str
    kind: str
    state: JobState
    priority: int
    payload: Any
    run_at: datetime
    created_at: datetime
    max_attempts: int
    attempt: int = 0
    """The number of the latest attempt, which is also the lease version; 0 before the first claim."""
    counted: int = 0
    """Attempts that count toward `max_attempts`: all but the snoozed and the released."""
    result: Any = None
    error: Mapping[str, Any] | None = None
    started_at: datetime | None = None
    """When the latest attempt started."""
    finished_at: datetime | None = None
    timeout: float | None = None
    """Seconds that its handler may run, apart from the lease; None is no limit."""
    retry: Mapping[str, Any] | None = None
    """The retry policy as stored; None is the default one."""
    idempotency_key: str | None = None
    trace_id: str | None = None
    correlation_id: str | None = None
    cost_cents: int = 0
    node_id: UUID | None = None
    lease_expires_at: datetime | None = None
    cancel_requested: bool = False
    ended_reason: str | None = None
    """Why it ended outside of an attempt, as whoever ended it said."""
    read_at: datetime | None = None
    concurrency_key: str | None = None
    concurrency_limit: int | None = None
    """How many jobs with the key may run at a time."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", JobState(self.state))

    @property
    def shown_state(self) -> str:
        """The state as people see it: a queued job may be *scheduled* or *retrying*.

        Due or not is judged by the database's clock, which came with the row.
        """
        if self.state is not JobState.QUEUED:
            return self.state.value
        if self.counted > 0:
            return "retrying"
        if self.read_at is not None and self.run_at > self.read_at:
            return "scheduled"
        return self.state.value
