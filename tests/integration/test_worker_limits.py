"""Limits and keys where real workers claim at the same time."""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from uuid import uuid4

import pytest

from tests.integration.crew import PATIENCE, until
from tests.support import Database
from windlass import RetryPolicy, Windlass
from windlass.settings import Settings

QUICK = RetryPolicy(base_seconds=0.01, jitter="none")


@pytest.fixture
def app(db: Database) -> Iterator[Windlass]:
    app = Windlass(settings=Settings(database_url=db.url()))
    yield app
    app.close_sync()


@contextmanager
def workers_in_threads(app: Windlass, count: int) -> Iterator[None]:
    """Workers with loops and connections of their own, until the block ends."""
    done = threading.Event()

    async def work() -> None:
        async with app.worker(concurrency=4, poll_seconds=0.05):
            while not done.is_set():
                await asyncio.sleep(0.01)

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join(PATIENCE)


@asynccontextmanager
async def workers(app: Windlass, count: int) -> AsyncIterator[None]:
    async with app.worker(concurrency=4, poll_seconds=0.05):
        if count > 1:
            async with workers(app, count - 1):
                yield
        else:
            yield


class Gauge:
    """How many are inside at a time, and the most that ever were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = self.most = self.done = 0

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, kind: object, *_: object) -> None:
        with self._lock:
            self.now -= 1
            self.done += kind is None


def test_eight_workers_never_run_more_than_the_limit(app: Windlass) -> None:
    gauge = Gauge()
    tried: set[int] = set()

    @app.job(retry=QUICK)
    def press(number: int) -> None:
        with gauge:
            time.sleep(0.002)
            if number % 7 == 0 and number not in tried:
                tried.add(number)
                raise ValueError("again")

    app.sync.set_limit(queue="default", concurrency=3)
    press.enqueue_many_sync(range(80))
    running = []
    deadline = time.monotonic() + PATIENCE
    with workers_in_threads(app, 8):
        while gauge.done < 80:
            assert time.monotonic() < deadline, f"{gauge.done} of 80"
            running.append(app.sync.list_limits()[0].running or 0)
    assert gauge.most <= 3
    assert 1 < max(running) <= 3


async def test_jobs_of_one_key_go_one_at_a_time_in_order_whatever_befalls_them(
    app: Windlass, db: Database
) -> None:
    inside: defaultdict[str, int] = defaultdict(int)
    done: defaultdict[str, list[int]] = defaultdict(list)
    together: list[str] = []
    failed: set[tuple[str, int]] = set()

    @app.job(concurrency_key="customer", retry=QUICK)
    async def bill(customer: str, number: int) -> None:
        inside[customer] += 1
        if inside[customer] > 1:
            together.append(customer)
        await asyncio.sleep(0.002)
        inside[customer] -= 1
        if number == 2 and (customer, number) not in failed:
            failed.add((customer, number))
            raise ValueError("again")
        done[customer].append(number)

    names = ["ann", "ben", "cleo"]
    await bill.enqueue_many([(name, number) for number in range(6) for name in names])
    # A worker that takes the first jobs and is never heard of again.
    claim = "select payload from windlass.claim_jobs(%s, '{default}', p_limit => 2, p_lease_seconds => 0.5)"
    lost = db.fetch(claim, uuid4())
    assert [row.payload["number"] for row in lost] == [0, 0]
    async with workers(app, 3):
        await until(lambda: sum(map(len, done.values())) == 18, "every bill")
    assert dict(done) == {name: list(range(6)) for name in names}
    assert together == []
    assert len(failed) == 3


async def test_a_limited_tenant_holds_up_nobody(app: Windlass) -> None:
    gate = asyncio.Event()
    served: list[str] = []

    @app.job
    async def serve(who: str) -> None:
        if who == "acme":
            await gate.wait()
        served.append(who)

    client = app.client
    await client.create_tenant("acme")
    await client.set_limit(tenant="acme", concurrency=1)
    await serve.options(tenant="acme", priority=9).enqueue_many(["acme"] * 30)
    async with app.worker(concurrency=2, poll_seconds=0.05):
        await serve.enqueue_many(["other"] * 30)
        await until(lambda: served.count("other") == 30, "the other tenant's jobs")
        assert served.count("acme") == 0
        (limit,) = await client.list_limits(tenant="acme")
        assert limit.running == 1
        gate.set()
        await until(lambda: len(served) == 60, "all of them")
    await app.close()
