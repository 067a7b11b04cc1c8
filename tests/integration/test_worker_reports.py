"""What somebody's open transaction holds up, and what it does not."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from tests.integration.crew import PATIENCE, TENANT, Crew, until
from tests.support import Database
from windlass.db.link import AsyncLink


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


class Operator:
    """Cancels jobs in a transaction that stays open."""

    def __init__(self, crew: Crew) -> None:
        self._connection = crew.db.connect(autocommit=False)

    def cancel(self, jobs: list[UUID]) -> None:
        for job_id in jobs:
            self._connection.execute("select windlass.cancel_job(%s, %s)", (TENANT, job_id))

    def change_mind(self) -> None:
        self._connection.rollback()


async def succeeds(crew: Crew, job_id: UUID) -> None:
    await until(lambda: crew.state(job_id) == "succeeded", "it is reported")


async def test_reports_on_jobs_that_somebody_holds_delay_no_others(crew: Crew) -> None:
    go = asyncio.Event()

    async def fails() -> None:
        await go.wait()
        raise ValueError("no")

    async def fine() -> None: ...

    crew.knows(fails)
    crew.knows(fine)
    jobs = crew.enqueue_many([{"kind": "fails", "payload": {}, "max_attempts": 1}] * 20)
    async with crew.worker(concurrency=40) as worker:
        await until(lambda: len(worker.running) == 20, "all run")
        operator = Operator(crew)
        operator.cancel(jobs)
        go.set()
        await until(lambda: not worker.running, "all have failed")
        # Each of the twenty takes half a second when it is said: behind them, one would wait for ten.
        async with asyncio.timeout(PATIENCE):
            for _ in range(10):
                await succeeds(crew, crew.enqueue("fine"))
        assert [crew.state(job_id) for job_id in jobs] == ["running"] * 20
        operator.change_mind()
        await worker.idle()
    assert [crew.outcomes(job_id) for job_id in jobs] == [["failed"]] * 20


@pytest.mark.direct(reason="looks at sessions by their name")
async def test_a_worker_that_stops_waits_a_while_for_reports_that_wait_themselves(crew: Crew) -> None:
    go = asyncio.Event()

    async def fails() -> None:
        await go.wait()
        raise ValueError("no")

    crew.knows(fails)
    job_id = crew.enqueue("fails", max_attempts=1)
    async with crew.worker() as worker:
        await until(lambda: worker.running, "it runs")
        operator = Operator(crew)
        operator.cancel([job_id])
        go.set()
        await until(lambda: waits(crew), "the report waits")
        worker.request_stop()
        operator.change_mind()
    assert crew.state(job_id) == "dead"
    await until(lambda: not sessions(crew), "its connection is closed")


def sessions(crew: Crew, of: str = "true") -> int:
    text = (
        "select count(*) from pg_stat_activity where datname = current_database() "
        f"and application_name like 'windlass apart%%' and {of}"
    )
    return int(crew.db.fetch_value(text, role="superuser"))


def waits(crew: Crew) -> int:
    return sessions(crew, "wait_event_type = 'Lock'")


async def test_a_fault_of_the_worker_loses_no_report(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[str] = []
    real = AsyncLink.run

    async def run(self: AsyncLink, call: Any, **how: Any) -> Any:
        if "complete_jobs" in call.text and not failed:
            failed.append(call.text)
            raise OSError(24, "Too many open files")
        return await real(self, call, **how)

    monkeypatch.setattr(AsyncLink, "run", run)

    async def fine() -> None: ...

    crew.knows(fine)
    job_id = crew.enqueue("fine")
    async with crew.worker() as worker:
        await succeeds(crew, job_id)
        await worker.idle()
    assert (len(failed), worker.counts.succeeded, worker.counts.lost, crew.leases) == (1, 1, 0, 0)
