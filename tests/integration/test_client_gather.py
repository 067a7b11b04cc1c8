"""Enqueues at the same time on one event loop: fewer statements, the same answers as for each alone."""

import asyncio
from typing import Any

import psycopg
import pytest

import windlass.client.gather
from tests.integration.shop import Shop
from windlass import InvalidInput, JobHandle, NewJob, Unavailable
from windlass.client.gather import Gatherer
from windlass.db.call import Call
from windlass.db.rpc_enqueue import EnqueueCall, Enqueued, enqueue_job
from windlass.errors import WindlassError
from windlass.model import uuid7

TENANT = uuid7()


def statements(shop: Shop) -> int:
    """How many transactions the jobs in line came in."""
    query = "select count(distinct xmin::text) from windlass_data.ready"
    found = shop.db.fetch_value(query, role="superuser")
    assert isinstance(found, int)
    return found


async def test_many_at_once_travel_together(shop: Shop) -> None:
    await shop.app.client.enqueue_job("a", "first")  # the lane is there, and the way to it
    handles = await asyncio.gather(
        *(shop.app.client.enqueue_job("a", n, trace_id=f"t{n}") for n in range(50))
    )
    jobs = [await handle.get() for handle in handles]
    assert [(job.payload, job.trace_id) for job in jobs] == [(n, f"t{n}") for n in range(50)]
    assert all(handle.created for handle in handles)
    assert statements(shop) == 3, "the one before, the first of them, and all the others"
    await shop.app.close()


@pytest.mark.parametrize("alike", [True, False])
async def test_whoever_was_answered_and_goes_on_goes_with_the_next(shop: Shop, alike: bool) -> None:
    shop.app.sync.enqueue_job("a", "first")

    async def some(name: str) -> list[JobHandle[Any]]:
        trace = None if alike else name
        return [await shop.app.client.enqueue_job("a", [name, n], trace_id=trace) for n in range(10)]

    found = await asyncio.gather(*(some(f"p{number}") for number in range(8)))
    for number, handles in enumerate(found):
        payloads = [(await handle.get()).payload for handle in handles]
        assert payloads == [[f"p{number}", n] for n in range(10)]
    assert statements(shop) <= 1 + 12, "ten rounds, and not one more for each"
    await shop.app.close()


async def test_a_refused_one_fails_alone(shop: Shop) -> None:
    """By the database, which finds the payload too large; its neighbours never know."""
    shop.measures_nothing()
    payloads: list[Any] = [*range(10), "x" * 1_048_575, *range(11, 20)]
    found = await asyncio.gather(
        *(shop.app.client.enqueue_job("a", payload) for payload in payloads), return_exceptions=True
    )
    assert isinstance(found[10], InvalidInput)
    assert [number for number, one in enumerate(found) if not isinstance(one, JobHandle)] == [10]
    assert len(shop.app.sync.list_jobs(limit=100)) == 19
    await shop.app.close()


@pytest.mark.direct(reason="three transactions are open at once")
async def test_jobs_with_a_key_or_an_id_of_their_own_go_alone(shop: Shop) -> None:
    """They may have to wait for somebody's open transaction; nobody else shall wait with them."""
    shop.app.sync.enqueue_job("a", 0)
    mine = uuid7()
    with psycopg.connect(shop.db.url()) as conn:
        shop.app.sync.using(conn).enqueue_job("a", 1, key="k")
        shop.app.sync.using(conn).enqueue_job("a", 2, id=mine)
        waiting = [
            asyncio.create_task(shop.app.client.enqueue_job("a", 1, key="k")),
            asyncio.create_task(shop.app.client.enqueue_job("a", 2, id=mine)),
        ]
        free = await asyncio.wait_for(
            asyncio.gather(*(shop.app.client.enqueue_job("a", n) for n in range(5))), timeout=60
        )
        assert len(free) == 5
        assert not any(task.done() for task in waiting)
    assert [handle.created for handle in await asyncio.gather(*waiting)] == [False, False]
    await shop.app.close()


@pytest.mark.direct(reason="three transactions are open at once")
async def test_one_lane_does_not_hold_up_another(shop: Shop) -> None:
    shop.app.sync.set_limit(kind="new", depth=100)
    with psycopg.connect(shop.db.url()) as conn:
        shop.app.sync.using(conn).enqueue_job("new", 1)  # and nobody else may, until this has ended
        held = [asyncio.create_task(shop.app.client.enqueue_job("new", n)) for n in range(3)]
        await asyncio.wait_for(shop.app.client.enqueue_job("other", 1), timeout=60)
        assert not any(task.done() for task in held)
    assert len(await asyncio.gather(*held)) == 3
    await shop.app.close()


class Line:
    """Carries calls out when told to, and keeps what came."""

    def __init__(self) -> None:
        self.calls: list[Call[Any]] = []
        self.turns: asyncio.Semaphore = asyncio.Semaphore(0)
        self.errors: list[Exception | None] = []

    async def run(self, call: Call[Any]) -> Any:
        self.calls.append(call)
        error = self.errors.pop(0) if self.errors else None
        await self.turns.acquire()
        if error is not None:
            raise error
        if isinstance(call, EnqueueCall):
            return Enqueued(call.job.id or TENANT, True)
        return call.read([])  # none of them was there already


def size(call: Call[Any]) -> int:
    """How many jobs a statement carries, by the ids it names."""
    return str(call.values[3]).count(",") + 1


def call(payload: str = "1") -> EnqueueCall:
    return enqueue_job(TENANT, NewJob(kind="a", payload=None, id=uuid7()), payload, alone=False)


async def started(line: Line, count: int) -> None:
    async with asyncio.timeout(60):
        while len(line.calls) < count:
            await asyncio.sleep(0)


async def test_a_lone_enqueue_goes_at_once_as_it_is() -> None:
    line = Line()
    gatherer = Gatherer(line.run)
    for _ in range(2):
        line.turns.release()
        mine = call()
        assert (await gatherer.enqueue(mine)).job_id == mine.job.id
        assert line.calls.pop() is mine


async def test_an_absent_database_is_told_to_each() -> None:
    line = Line()
    line.errors = [None, Unavailable("gone")]
    gatherer = Gatherer(line.run)
    tasks = [asyncio.create_task(gatherer.enqueue(call())) for _ in range(4)]
    await started(line, 1)
    line.turns.release()
    line.turns.release()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in found] == [Enqueued, Unavailable, Unavailable, Unavailable]
    assert len(line.calls) == 2, "whether to ask again is for each caller to say"
    line.turns.release()
    assert isinstance(await gatherer.enqueue(call()), Enqueued)


async def test_whoever_gives_up_is_not_sent_and_disturbs_nobody() -> None:
    line = Line()
    gatherer = Gatherer(line.run)
    first, gone, last = [asyncio.create_task(gatherer.enqueue(call())) for _ in range(3)]
    await started(line, 1)
    gone.cancel()
    first.cancel()
    await asyncio.wait([first, gone])
    await started(line, 2)
    line.turns.release()
    assert isinstance(await last, Enqueued)
    assert size(line.calls[1]) == 1


async def test_whoever_gives_up_on_the_way_disturbs_nobody() -> None:
    for error in (None, WindlassError("one of them")):
        line = Line()
        line.errors = [None, error]
        gatherer = Gatherer(line.run)
        first, gone, last = [asyncio.create_task(gatherer.enqueue(call())) for _ in range(3)]
        await started(line, 1)
        line.turns.release()
        await started(line, 2)
        gone.cancel()
        for _ in range(4):
            line.turns.release()
        assert isinstance(await last, Enqueued)
        assert isinstance(await first, Enqueued)


async def test_one_statement_is_not_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windlass.client.gather, "MAX_JOBS", 4)
    monkeypatch.setattr(windlass.client.gather, "MAX_CHARACTERS", 10)
    line = Line()
    gatherer = Gatherer(line.run)
    payloads = ["1", *["2"] * 6, "3" * 20, "4" * 9, "5"]
    tasks = [asyncio.create_task(gatherer.enqueue(call(payload))) for payload in payloads]
    await started(line, 1)
    for _ in payloads:
        line.turns.release()
    assert len(await asyncio.gather(*tasks)) == len(payloads)
    assert [size(one) for one in line.calls[1:]] == [4, 2, 1, 2]


async def test_a_loop_that_ends_leaves_nobody_waiting() -> None:
    line = Line()
    gatherer = Gatherer(line.run)
    tasks = [asyncio.create_task(gatherer.enqueue(call())) for _ in range(3)]
    await started(line, 1)
    line.turns.release()
    await started(line, 2)
    (carrying,) = gatherer._tasks
    carrying.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in found] == [Enqueued, asyncio.CancelledError, asyncio.CancelledError]
