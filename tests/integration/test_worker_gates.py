"""A gate, as workers heed it: at once, for what they hold already."""

import asyncio
from typing import Any

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.worker.context import JobContext

# So long that nothing here is heard by the way, with a renewal that was due anyhow.
LONG = 3600.0


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


async def test_what_runs_is_given_back_when_asked_and_begins_again(crew: Crew) -> None:
    reasons: list[Any] = []
    go_on = asyncio.Event()

    async def slow(ctx: JobContext) -> None:
        try:
            await go_on.wait()
        finally:
            reasons.append(ctx.stop_reason)

    crew.knows(slow)
    job_id = crew.enqueue("slow", max_attempts=1)
    async with crew.worker(lease_seconds=LONG) as worker:
        assert worker.listener is not None
        await worker.listener.listening()
        await until(lambda: worker.running, "it runs")
        crew.db.execute("select windlass.set_gate(p_kind => 'slow', p_release => true)")
        await until(lambda: crew.outcomes(job_id) == ["released"], "it is given back")
        assert (crew.state(job_id), reasons) == ("queued", ["gate_closed"])
        go_on.set()
        crew.db.execute("select windlass.clear_gate(p_kind => 'slow')")
        await worker.idle()
    assert crew.outcomes(job_id) == ["released", "succeeded"]


async def test_what_was_claimed_ahead_and_not_started_is_given_back(crew: Crew) -> None:
    go_on = asyncio.Event()
    hold = False

    async def some() -> None:
        if hold:
            await go_on.wait()

    crew.knows(some)
    crew.enqueue_many([{"kind": "some", "payload": {}}] * 2000)
    async with crew.worker(lease_seconds=LONG, concurrency=2) as worker:
        assert worker.listener is not None
        await worker.listener.listening()
        await until(lambda: worker.counts.succeeded > 200, "it is quick, and claims ahead")
        hold = True
        await until(lambda: len(worker.running) == 2, "it is held up")
        crew.db.execute("select windlass.set_gate(p_kind => 'some')")
        await until(lambda: worker.counts.released > 0 and crew.held == 2, "all but what runs is given back")
        go_on.set()
        await until(lambda: crew.held == 0, "what ran has ended, and nothing was started")
        hold = False
        crew.db.execute("select windlass.clear_gate(p_kind => 'some')")
        await until(lambda: crew.count("succeeded") == 2000, "all are done")
