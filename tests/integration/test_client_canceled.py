"""A task that is canceled while the database works for it ends, and its clean-up gets its own answers."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from psycopg_pool.pool_async import WaitingClient

from tests.integration.crew import until
from tests.integration.proxy import Proxy
from tests.integration.shop import Shop
from tests.support import Database
from windlass import IdempotencyConflict, NotFound, Windlass
from windlass.db.call import Call
from windlass.db.database import AsyncDatabase
from windlass.settings import Settings

ONE = Call("select pg_backend_pid(), $1::int", (1,), list)
SLEEP = Call("select pg_sleep($1::int)::text", (60,), list, hot=True)
ASLEEP = "select exists (select from pg_stat_activity where wait_event = 'PgSleep')"
PATIENCE = 10.0


@pytest.fixture
def cancel_at_handover(monkeypatch: pytest.MonkeyPatch) -> Callable[[asyncio.Task[Any]], None]:
    """Cancel the task at the very moment at which it is given a connection that it waited for."""
    tasks: list[asyncio.Task[Any]] = []
    hand_over = WaitingClient.set

    async def cancel_too(self: WaitingClient[Any], connection: Any) -> bool:
        taken = await hand_over(self, connection)
        while tasks:
            tasks.pop().cancel()
        return taken

    monkeypatch.setattr(WaitingClient, "set", cancel_too)
    return tasks.append


async def has_ended(task: asyncio.Task[Any]) -> bool:
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    return bool(done)


async def by_call(database: AsyncDatabase) -> Any:
    return await database.run(ONE)


async def by_connection(database: AsyncDatabase) -> Any:
    async with database.connection() as connection:
        return await (await connection.execute("select 1")).fetchone()


@pytest.mark.parametrize("use", [by_call, by_connection])
async def test_a_cancellation_that_comes_with_the_connection_counts(
    db: Database,
    use: Callable[[AsyncDatabase], Awaitable[Any]],
    cancel_at_handover: Callable[[asyncio.Task[Any]], None],
) -> None:
    async with AsyncDatabase(db.url(), max_size=1, timeout=PATIENCE) as database:
        task = asyncio.ensure_future(use(database))
        cancel_at_handover(task)
        assert await has_ended(task)
        assert task.cancelled(), "it was lost"
        assert await database.run(ONE), "the connection went back"


async def test_who_waits_for_a_job_can_be_canceled_at_that_moment(
    shop: Shop, cancel_at_handover: Callable[[asyncio.Task[Any]], None]
) -> None:
    handle = await shop.add.enqueue(1)
    await shop.app.close()
    waiting = asyncio.create_task(handle.wait(timeout=3600))
    cancel_at_handover(waiting)
    try:
        assert await has_ended(waiting), "it waits for ever"
        assert waiting.cancelled()
    finally:
        waiting.cancel()
        await shop.app.close()


async def test_a_cancellation_while_the_connection_breaks_counts(shop: Shop, tmp_path: Path) -> None:
    proxy = Proxy(shop.db.url(), tmp_path)
    async with AsyncDatabase(proxy.url, timeout=PATIENCE) as database:
        slow = asyncio.create_task(database.run(SLEEP))
        await until(lambda: shop.db.fetch_value(ASLEEP, role="superuser"), "the server is busy with it")
        slow.cancel()
        proxy.refuse()
        assert await has_ended(slow)
        assert slow.cancelled()


async def test_what_a_canceled_task_does_to_clean_up_gets_its_own_answers(shop: Shop) -> None:
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            with pytest.raises(NotFound):
                await shop.app.client.cancel_job(uuid4())
            with pytest.raises(IdempotencyConflict):
                await shop.app.client.enqueue_job("a", {"n": 2}, key="k")
            said.append("the rest of it too")
            raise

    async with shop.app:
        await shop.app.client.enqueue_job("a", {"n": 1}, key="k")
        working = asyncio.create_task(work())
        await asyncio.sleep(0)  # it has begun
        working.cancel()
        with pytest.raises(asyncio.CancelledError) as ended:
            await working
    assert said, "an answer became a cancellation"
    assert ended.value.__cause__ is None


async def test_a_handler_that_has_to_stop_cleans_up_to_the_end(db: Database) -> None:
    said: list[str] = []
    app = Windlass(settings=Settings(database_url=db.url()))

    @app.job(timeout=0.2, max_attempts=1)
    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            try:
                await app.client.cancel_job(uuid4())
            except NotFound:
                said.append("gone already")
            said.append("the rest of it too")
            raise

    async with app, app.worker() as worker:
        handle = await slow.enqueue()
        await worker.idle()
        assert (await handle.get()).state == "dead"
    assert said == ["gone already", "the rest of it too"]
