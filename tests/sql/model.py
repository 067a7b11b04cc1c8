"""The life of a job in plain Python: what the database must do, in the fewest words that say it."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

BASE_SECONDS = 7  # every job of the model waits 7 s, 14 s, 28 s … after a failure, without jitter
TERMINAL = ("succeeded", "skipped", "dead", "canceled")


@dataclass
class ModelJob:
    id: UUID
    tenant: UUID
    kind: str
    priority: int
    payload: Any
    max_attempts: int
    run_at: datetime
    key: str | None
    state: str = "queued"
    seq: int | None = None  # its place in line; None while it waits for its time
    version: int = 0
    counted: int = 0
    token: UUID | None = None
    cancel_requested: bool = False
    result: Any = None
    error: Any = None
    cost: int = 0
    outcomes: list[str] = field(default_factory=list)

    @property
    def ready(self) -> bool:
        return self.state == "queued" and self.seq is not None


class Refused(Exception):
    """The call must fail with this code and change nothing."""


class Model:
    """All jobs of a database whose clock stands still unless it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.jobs: dict[tuple[UUID, UUID], ModelJob] = {}
        self.leases: dict[UUID, datetime] = {}
        self.spent: list[tuple[UUID, UUID, UUID]] = []  # tenant, job and token of words that come too late
        self._keys: dict[tuple[UUID, str, str], ModelJob] = {}
        self._places = itertools.count()

    def of(self, *states: str) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.state in states]

    # Enqueue

    def find_duplicate(
        self, tenant: UUID, kind: str, key: str | None, scope: str, payload: Any
    ) -> ModelJob | None:
        """The job that the key names, if that stands in the way of a new one."""
        holder = self._keys.get((tenant, kind, key)) if key is not None else None
        if holder is None or (scope == "active" and holder.state in TERMINAL):
            return None
        if holder.payload != payload:
            raise Refused("WL002")
        return holder

    def enqueue(self, job: ModelJob) -> None:
        if job.run_at <= self.now:
            job.seq = next(self._places)
        self.jobs[job.tenant, job.id] = job
        if job.key is not None:
            self._keys[job.tenant, job.kind, job.key] = job

    # Claim

    def promote(self) -> None:
        """Put the jobs that are due into line, whatever the claim is for."""
        waiting = [job for job in self.of("queued") if job.seq is None]
        due = [job for job in waiting if job.run_at <= self.now]
        for job in sorted(due, key=lambda job: (job.run_at, job.id)):
            job.seq = next(self._places)

    def line(self, tenant: UUID, kinds: Iterable[str]) -> list[ModelJob]:
        """The ready jobs of one tenant, in the order in which they must be claimed."""
        ready = [
            job for job in self.jobs.values() if job.ready and job.tenant == tenant and job.kind in kinds
        ]
        return sorted(ready, key=lambda job: (-job.priority, job.seq))

    def claim(self, job: ModelJob, token: UUID, expires_at: datetime) -> None:
        job.state, job.seq, job.token = "running", None, token
        job.version += 1
        self.leases[token] = expires_at

    # The words about a running job

    def end(
        self, job: ModelJob, outcome: str, *, wait: float | None = None, result: Any = None, error: Any = None
    ) -> None:
        """End the running attempt; what becomes of the job follows."""
        assert job.token is not None
        self.spent.append((job.tenant, job.id, job.token))
        job.outcomes.append(outcome)
        job.token, job.error = None, error
        if outcome not in ("snoozed", "released"):
            job.counted += 1
        if outcome in ("succeeded", "skipped"):
            job.state, job.result = outcome, result
        elif outcome == "canceled" or job.cancel_requested:
            job.state = "canceled"
        elif outcome in ("failed", "timed_out", "crashed") and job.counted >= job.max_attempts:
            job.state = "dead"
        else:
            self._go_on(job, self._wait(job, outcome, wait))
        if job.state in TERMINAL:
            job.cancel_requested = False

    def _wait(self, job: ModelJob, outcome: str, wait: float | None) -> float:
        if outcome in ("failed", "timed_out") and wait is None:
            return float(BASE_SECONDS * 2 ** (job.counted - 1))
        return wait or 0.0

    def _go_on(self, job: ModelJob, wait: float) -> None:
        job.state = "queued"
        job.seq = next(self._places) if wait == 0 else None
        if wait > 0:
            job.run_at = self.now + timedelta(seconds=wait)

    def holds(self, token: UUID) -> bool:
        return any(job.token == token for job in self.jobs.values())

    def expire(self) -> list[ModelJob]:
        """Recover the running jobs whose lease is over, in the order in which they were enqueued."""
        overdue = [job for job in self.of("running") if job.token and self.leases[job.token] < self.now]
        overdue.sort(key=lambda job: job.id)
        for job in overdue:
            self.end(job, "crashed", error="LeaseExpired")
        return overdue

    # Operators

    def cancel(self, job: ModelJob) -> str:
        if job.state == "running":
            job.cancel_requested = True
        elif job.state == "queued":
            job.state, job.seq = "canceled", None
        elif job.state != "canceled":
            raise Refused("WL004")
        return job.state

    def redrive(self, job: ModelJob) -> None:
        if job.state != "dead":
            raise Refused("WL004")
        if job.key is not None:
            holder = self._keys[job.tenant, job.kind, job.key]
            if holder.state not in TERMINAL:
                raise Refused("WL002")
            self._keys[job.tenant, job.kind, job.key] = job
        job.state, job.counted, job.seq = "queued", 0, next(self._places)


def check(row: Any, job: ModelJob, model: Model) -> None:
    """A row of get_job, or of what it asks, says what the model says."""
    assert (row.state, row.version, row.payload) == (job.state, job.version, job.payload), job
    assert (row.priority, row.max_attempts, row.cost_cents) == (job.priority, job.max_attempts, job.cost), job
    assert row.cancel_requested == job.cancel_requested, job
    if job.state in ("succeeded", "skipped"):
        assert row.result == job.result
    if job.state in ("queued", "running"):
        assert row.counted == job.counted, job
    if job.state == "queued" and job.seq is None:
        assert row.run_at == job.run_at, job
    if job.state == "running":
        assert row.lease_expires_at == model.leases[job.token], job  # type: ignore[index]
    if job.state == "dead":
        assert job.counted == job.max_attempts
        assert row.error.get("type", row.error) == job.error, job
