"""The first calls of a client, many at the same time: its pool is opened once, for all who wait for it."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.proxy import Proxy
from tests.integration.shop import Shop
from windlass import Unavailable
from windlass.client import AsyncClient
from windlass.client.faces import POOL_SIZE
from windlass.settings import Settings

CALLS = 100
OPENED = 1 + POOL_SIZE  # the first connection, which says what is wrong, and the pool's


@pytest.fixture
def proxy(shop: Shop, tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(shop.db.url(), tmp_path)
    yield proxy
    proxy.refuse()


@pytest.fixture
def client(proxy: Proxy) -> AsyncClient:
    return AsyncClient(Settings(database_url=proxy.url))


async def enqueue_many(client: AsyncClient) -> None:
    """In lanes of their own, so that none waits for another."""
    calls = (client.enqueue_job("a", queue=f"lane-{n}") for n in range(CALLS))
    assert all(handle.created for handle in await asyncio.gather(*calls))
    await client.close()


async def test_many_first_calls_open_no_more_than_a_pool(
    shop: Shop, client: AsyncClient, proxy: Proxy
) -> None:
    await enqueue_many(client)
    assert proxy.accepted <= OPENED
    assert len(shop.app.sync.list_jobs(limit=1000)) == CALLS


def test_each_loop_opens_its_own_pool_once(shop: Shop, client: AsyncClient, proxy: Proxy) -> None:
    threads = [threading.Thread(target=lambda: asyncio.run(enqueue_many(client))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert proxy.accepted <= 3 * OPENED
    assert len(shop.app.sync.list_jobs(limit=1000)) == 3 * CALLS


async def test_who_asked_first_may_be_canceled_and_the_others_get_the_pool(
    shop: Shop, client: AsyncClient, proxy: Proxy
) -> None:
    first, *others = [asyncio.create_task(client.enqueue_job("a")) for _ in range(5)]
    await asyncio.sleep(0)  # all have asked, none has a connection
    first.cancel()
    assert all([(await other).created for other in others])
    assert first.cancelled()
    await client.close()
    assert proxy.accepted <= OPENED


async def test_after_a_failure_the_next_call_tries_again(shop: Shop, proxy: Proxy) -> None:
    client = AsyncClient(Settings(database_url=proxy.url), patience=0)
    proxy.refuse()
    failed = await asyncio.gather(*(client.list_jobs() for _ in range(5)), return_exceptions=True)
    assert {type(error) for error in failed} == {Unavailable}
    proxy.accept()
    assert len(await client.list_jobs()) == 0
    await client.close()


async def test_what_is_closed_while_it_opens_is_not_left_open(client: AsyncClient) -> None:
    opening = asyncio.create_task(client.__aenter__())
    await asyncio.sleep(0)
    await client.close()
    await opening
    assert asyncio.all_tasks() == {asyncio.current_task()}, "those of a pool would go on"
