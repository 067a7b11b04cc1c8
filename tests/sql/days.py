"""Days of the past and the jobs done in them, for the tests of retention."""

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.sql.steps import Session
from tests.support import Clock, Database

# Each way in which a job ends, and the state that it ends in.
ENDS = {
    "succeeded": "succeeded",
    "skipped": "skipped",
    "dead": "dead",
    "canceled": "canceled",
    "stopped": "canceled",  # in an attempt, by its worker
}


def make_id(at: datetime) -> UUID:
    """A UUIDv7 of that moment."""
    milliseconds = int(at.timestamp() * 1000)
    return UUID(
        int=milliseconds << 80 | 7 << 76 | random.getrandbits(12) << 64 | 2 << 62 | random.getrandbits(62)
    )


def prune(conn: Connection[Any], *, limit: int = 5000, **keeps: int | None) -> Any:
    """One call of prune_jobs; keeps are in days, 30 for each state not named."""
    days = [keeps.get(state, 30) for state in ("succeeded", "canceled", "skipped", "dead")]
    assert not keeps.keys() - set(ENDS.values())
    intervals = [None if n is None else timedelta(days=n) for n in days]
    (row,) = conn.execute(
        "select * from windlass.prune_jobs(%s, %s, %s, %s, %s)", [*intervals, limit]
    ).fetchall()
    return row


class Past:
    """Days by their age; each job is of a kind of its own, so that a claim finds just this one."""

    def __init__(self, db: Database, clock: Clock, jobs: Session) -> None:
        self.db = db
        self.jobs = jobs
        self._clock = clock
        self._kinds = (f"kind{n}" for n in itertools.count())
        self._noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)

    def noon(self, age: int) -> datetime:
        return self._noon - timedelta(days=age)

    def day(self, age: int) -> date:
        return self.noon(age).date()

    def make(self, *ages: int) -> None:
        """Make the tables of these days, as somebody did when they were ahead."""
        for age in ages:
            assert self.db.fetch_value("select windlass_data.add_day(%s)", self.day(age), role="owner")

    @contextmanager
    def at(self, age: int) -> Iterator[None]:
        """Act at noon of that day."""
        self._clock.freeze(self.noon(age))
        yield
        self._clock.reset()

    def enqueue(self, age: int, **fields: Any) -> UUID:
        kind = fields.pop("kind", None) or next(self._kinds)
        with self.at(age):
            return self.jobs.enqueue(kind, id=make_id(self.noon(age)), **fields)

    def claim(self, job_id: UUID, *, lease: float = 86400) -> Any:
        held = self.jobs.claim_one(kinds=[self.jobs.get(job_id).kind], lease=lease)
        assert held.job_id == job_id
        return held

    def end(self, age: int, how: str = "succeeded", *, finished: int | None = None, **fields: Any) -> UUID:
        """A job enqueued on one day and ended, as one of ENDS, on the same day or on another."""
        job_id = self.enqueue(age, max_attempts=1, **fields)
        with self.at(age if finished is None else finished):
            if how == "canceled":
                self.jobs.cancel(job_id, "not wanted")
            elif how == "dead":
                self.jobs.fail(self.claim(job_id), errors=[{"message": "no"}])
            elif how == "stopped":
                self.jobs.fail(self.claim(job_id), outcomes=["canceled"])
            else:
                self.jobs.complete(self.claim(job_id), results=[{"n": 1}], states=[how])
        assert self.jobs.state(job_id) == ENDS[how]
        return job_id

    def prune(self, **how: Any) -> Any:
        return prune(self.jobs.conn, **how)

    def prune_all(self, **how: Any) -> tuple[list[date], int]:
        """Prune until there is no more to do; what was dropped and how many jobs were removed."""
        dropped, removed = [], 0
        for _ in range(200):
            row = self.prune(**how)
            dropped += row.dropped
            removed += row.removed
            if not row.more:
                return dropped, removed
        raise AssertionError("there is always more to prune")

    def tell(self, job_id: UUID) -> tuple[Any, ...]:
        """All that can be asked about a job."""
        jobs = self.jobs
        (row,) = jobs.call(
            "select to_jsonb(j) - 'read_at' from windlass.get_job(%s, %s) as j", jobs.tenant, job_id
        )
        attempts = jobs.call("select * from windlass.list_attempts(%s, %s)", jobs.tenant, job_id)
        history = jobs.call("select * from windlass.list_history(%s, %s)", jobs.tenant, job_id)
        return row, attempts, history

    def listed(self, **filters: Any) -> set[UUID]:
        rows = self.jobs.call(
            "select id from windlass.list_jobs(%s, p_states => %s, p_limit => 1000)",
            self.jobs.tenant,
            filters.get("states"),
        )
        return {row.id for row in rows}

    def tables(self) -> dict[str, int]:
        """The rows that each table of jobs and attempts holds; tables that hold none are left out."""
        rows = self.db.fetch(
            "select tableoid::regclass::text as name, count(*) as n from windlass_data.job group by 1 "
            "union all select tableoid::regclass::text, count(*) from windlass_data.attempt group by 1",
            role="superuser",
        )
        return {row.name.removeprefix("windlass_data."): row.n for row in rows}

    def has_tables(self, age: int) -> bool:
        name = self.day(age).strftime("windlass_data.job_%Y%m%d")
        return self.db.fetch_value("select to_regclass(%s) is not null", name, role="superuser")
