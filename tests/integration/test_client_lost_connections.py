"""A connection that dies at the worst moment loses no job and makes none twice."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.integration.proxy import Proxy
from tests.integration.shop import Shop
from windlass import JobState, NewJob, NotFound, Unavailable
from windlass.client import AsyncClient, SyncClient
from windlass.settings import Settings


@pytest.fixture
def proxy(shop: Shop, tmp_path: Path) -> Iterator[Proxy]:
    proxy = Proxy(shop.db.url(), tmp_path)
    yield proxy
    proxy.refuse()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[SyncClient]:
    with SyncClient(Settings(database_url=proxy.url)) as client:
        yield client


@pytest.fixture
async def async_client(proxy: Proxy) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(Settings(database_url=proxy.url)) as client:
        yield client


def kept(shop: Shop) -> int:
    return len(shop.app.sync.list_jobs(limit=1000))


def test_an_enqueue_without_an_answer_is_said_again_and_makes_one_job(
    shop: Shop, client: SyncClient, proxy: Proxy
) -> None:
    client.list_jobs()  # a connection is open
    proxy.swallow()
    handle = client.enqueue_job("a", {"n": 1})
    assert proxy.swallowed == 1
    assert (kept(shop), handle.created) == (1, True)
    assert handle.get().payload == {"n": 1}


def test_a_keyed_enqueue_without_an_answer_is_not_taken_for_a_duplicate(
    shop: Shop, client: SyncClient, proxy: Proxy
) -> None:
    client.list_jobs()
    proxy.swallow()
    handle = client.enqueue_job("a", {"n": 1}, key="k")
    assert proxy.swallowed == 1
    assert (kept(shop), handle.created) == (1, True)
    assert client.enqueue_job("a", {"n": 1}, key="k").created is False


def test_a_batch_without_an_answer_is_one_batch(shop: Shop, client: SyncClient, proxy: Proxy) -> None:
    client.list_jobs()
    proxy.swallow()
    handles = client.enqueue_jobs(NewJob(kind="a", payload=n) for n in range(50))
    assert proxy.swallowed == 1
    assert [handle.get().payload for handle in handles[:3]] == [0, 1, 2]
    assert (kept(shop), all(handle.created for handle in handles)) == (50, True)


async def test_the_same_from_an_event_loop(shop: Shop, async_client: AsyncClient, proxy: Proxy) -> None:
    await async_client.list_jobs()
    proxy.swallow()
    handle = await async_client.enqueue_job("a", {"n": 1})
    assert proxy.swallowed == 1
    assert (kept(shop), handle.created) == (1, True)
    proxy.swallow()
    assert (await handle.get()).id == handle.id, "a read is asked again"
    proxy.swallow()
    assert await handle.cancel() is JobState.CANCELED, "so is a change that says the same twice"
    assert proxy.swallowed == 3


def test_a_redrive_is_not_said_twice(shop: Shop, client: SyncClient, proxy: Proxy) -> None:
    job = shop.app.sync.enqueue_job("a", max_attempts=1)
    shop.work(error="no")
    assert job.get().state is JobState.DEAD
    client.list_jobs()
    proxy.swallow()
    with pytest.raises(Unavailable):
        client.redrive_jobs([job.id])
    assert job.get().state is JobState.QUEUED, "the caller has to look"


def test_an_enqueue_outlasts_an_outage(shop: Shop, client: SyncClient, proxy: Proxy) -> None:
    client.list_jobs()
    proxy.refuse()
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(client.enqueue_job("a").created))
    thread.start()
    proxy.accept()
    thread.join()
    assert (done, kept(shop)) == ([True], 1)


def test_a_first_call_outlasts_an_outage_too(shop: Shop, proxy: Proxy) -> None:
    proxy.refuse()
    client = SyncClient(Settings(database_url=proxy.url))
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(client.enqueue_job("a").created))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), "it waits"
    proxy.accept()
    thread.join()
    client.close()
    assert (done, kept(shop)) == ([True], 1)


async def test_a_first_call_on_a_loop_does_as_well(shop: Shop, proxy: Proxy) -> None:
    proxy.refuse()
    client = AsyncClient(Settings(database_url=proxy.url))
    enqueued = [asyncio.create_task(client.enqueue_job("a")) for _ in range(10)]
    await asyncio.wait(enqueued, timeout=0.2)
    assert not any(task.done() for task in enqueued), "they wait"
    proxy.accept()
    assert all([(await task).created for task in enqueued])
    await client.close()
    assert kept(shop) == 10


def test_patience_ends(shop: Shop, proxy: Proxy) -> None:
    with SyncClient(Settings(database_url=proxy.url), patience=0.3) as client:
        client.list_jobs()
        proxy.refuse()
        with pytest.raises(Unavailable):
            client.enqueue_job("a")
    assert kept(shop) == 0


def test_what_the_database_refuses_is_not_asked_again(shop: Shop, client: SyncClient, proxy: Proxy) -> None:
    with pytest.raises(NotFound, match="there is no job"):
        client.get_job("00000000-0000-7000-8000-000000000009")


def test_the_first_connection_says_at_once_what_is_wrong(shop: Shop) -> None:
    url = shop.db.url().replace(shop.db.name, "no_such_database")
    with pytest.raises(Unavailable, match=r'database "no_such_database" does not exist'):
        SyncClient(Settings(database_url=url)).list_jobs()


async def test_the_first_connection_says_so_on_a_loop_too(tmp_path: Path) -> None:
    client = AsyncClient(Settings(database_url=f"postgresql://someone@/db?host={tmp_path}"), patience=0)
    with pytest.raises(Unavailable, match="No such file or directory"):
        await client.list_jobs()
