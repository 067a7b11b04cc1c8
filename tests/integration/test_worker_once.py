"""A worker runs once: before that there is nothing to see or to stop, and after that it is over."""

import asyncio

import pytest

from tests.support import Database
from windlass import InvalidInput, Windlass
from windlass.settings import Settings

PATIENCE = 10.0


@pytest.fixture
def app(db: Database) -> Windlass:
    app = Windlass(settings=Settings(database_url=db.url()))

    @app.job
    async def fine(n: int) -> int:
        return n

    return app


@pytest.mark.parametrize("tends", [True, False])
async def test_a_worker_that_has_run_is_refused_a_second_time(app: Windlass, tends: bool) -> None:
    async with app:
        worker = app.worker(tends=tends)
        async with worker:
            with pytest.raises(InvalidInput, match="runs once"):
                await worker.__aenter__()
            handle = await app.client.enqueue_job("fine", {"n": 1})
            assert await handle.wait(timeout=PATIENCE) == 1, "the refusal changes nothing for the first block"
        tasks = asyncio.all_tasks()
        with pytest.raises(InvalidInput, match="make another"):
            await worker.__aenter__()
        assert asyncio.all_tasks() == tasks, "nothing of it goes on"
        async with app.worker(tends=tends):
            handle = await app.client.enqueue_job("fine", {"n": 2})
            assert await handle.wait(timeout=PATIENCE) == 2


async def test_a_worker_that_was_not_entered_does_nothing_and_can_be_entered_yet(app: Windlass) -> None:
    async with app:
        worker = app.worker()
        worker.request_stop()
        await asyncio.wait_for(worker.stop(), PATIENCE)
        await asyncio.wait_for(worker.idle(), PATIENCE)
        assert (worker.running, worker.child_pids, worker.listener) == ([], [], None)
        assert (worker.buffered, worker.stuck, worker.claims_made, worker.renewals) == (0, 0, 0, 0)
        assert not worker.resting
        async with worker:
            handle = await app.client.enqueue_job("fine", {"n": 1})
            assert await handle.wait(timeout=PATIENCE) == 1
