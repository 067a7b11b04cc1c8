"""Help for tests of the worker: jobs by kind, a worker with short times, and what became of the jobs."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from tests.support import Database
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.worker import Worker

TENANT = UUID("00000000-0000-7000-8000-000000000001")
PATIENCE = 30.0


async def until(holds: Callable[[], Any], what: str) -> None:
    """Wait until the condition holds; the deadline only ends a test that has failed already."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not in {PATIENCE:.0f} s: {what}"
        await asyncio.sleep(0.005)


class Crew:
    """One database, the kinds known in it, and workers for them."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.registry = Registry()

    def knows(self, function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """Make a function a kind, by its own name unless another is given."""
        self.registry.add(JobDefinition.from_function(function, **options))
        return function

    def worker(self, **options: Any) -> Worker:
        return Worker(
            self.db.url(),
            self.registry,
            **{"lease_seconds": 3.0, "concurrency": 4, "grace_seconds": 10, **options},
        )

    def enqueue(self, kind: str, /, **fields: Any) -> UUID:
        """One job; `payload` and whatever else an enqueue takes."""
        return self.enqueue_many([{"kind": kind, "payload": {}, **fields}])[0]

    def enqueue_many(self, jobs: list[dict[str, Any]]) -> list[UUID]:
        text = "select job_id from windlass.enqueue_jobs(%s, %s) order by ordinal"
        return [row.job_id for row in self.db.fetch(text, TENANT, json.dumps(jobs))]

    def job(self, job_id: UUID) -> Any:
        return self.db.fetch_row("select * from windlass.get_job(%s, %s)", TENANT, job_id)

    def state(self, job_id: UUID) -> str:
        return str(self.job(job_id).state)

    def cancel(self, job_id: UUID) -> str:
        return str(self.db.fetch_value("select windlass.cancel_job(%s, %s)", TENANT, job_id))

    def attempts(self, job_id: UUID) -> list[Any]:
        return self.db.fetch(
            "select version, counted, outcome::text, error, cost_cents, token from windlass_data.attempt "
            "where job_id = %s order by version",
            job_id,
            role="superuser",
        )

    def outcomes(self, job_id: UUID) -> list[str]:
        return [attempt.outcome for attempt in self.attempts(job_id)]

    @property
    def leases(self) -> int:
        count = self.db.fetch_value("select count(*) from windlass_data.lease", role="superuser")
        return int(count)

    @property
    def held(self) -> int:
        """How many jobs are claimed and not ended."""
        text = "select coalesce(sum(open), 0) from windlass_data.lease"
        return int(self.db.fetch_value(text, role="superuser"))

    def expire_leases(self) -> int:
        """Let every lease run out and be recovered, before anybody can renew it; how many jobs that were."""
        connection = self.db.connection("superuser")
        with connection.transaction():
            connection.execute("update windlass_data.lease set expires_at = 'epoch'")
            return len(connection.execute("select * from windlass.expire_leases()").fetchall())

    def count(self, state: str) -> int:
        """How many jobs are in that state, by their last attempts."""
        text = "select count(distinct job_id) from windlass_data.attempt where ends = %s"
        return int(self.db.fetch_value(text, state, role="superuser"))

    def end_sessions(self, lane: str) -> int:
        """End the server's side of a worker's connections of that name; how many there were."""
        text = (
            "select count(*) filter (where pg_terminate_backend(pid)) as n from pg_stat_activity "
            "where datname = current_database() and application_name like %s"
        )
        return int(self.db.fetch_value(text, f"windlass {lane}%", role="superuser"))
