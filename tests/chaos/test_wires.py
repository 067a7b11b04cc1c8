"""What a broken wire must not do: keep somebody waiting who has given up."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.chaos.proxy import Proxy
from tests.support import Database
from windlass.db.call import Call
from windlass.db.link import AsyncLink
from windlass.db.listen import Listener


@pytest.fixture
def proxy(db: Database, tmp_path: Path) -> Iterator[Proxy]:
    target = conninfo_to_dict(db.url())
    proxy = Proxy(lambda: Path(f"{target['host']}/.s.PGSQL.{target['port']}"), directory=tmp_path)
    yield proxy
    proxy.close()


async def cancel_during_a_break(task: "asyncio.Task[None]", proxy: Proxy) -> None:
    """Cancel what waits for an answer, and break its connection while the driver deals with that."""
    proxy.set("half-open")
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(
        0.1
    )  # until the driver is in the middle of it; sooner would prove nothing, but not fail
    proxy.set("refuse")
    await asyncio.wait([task], timeout=30)


async def test_a_call_that_is_canceled_as_its_connection_breaks_ends(db: Database, proxy: Proxy) -> None:
    link = AsyncLink(proxy.url(database=db.name))
    asked = asyncio.Event()

    async def call() -> None:
        await link.run(Call("select 1", (), len))
        asked.set()
        await link.run(Call("select pg_sleep(60)", (), len))

    task = asyncio.create_task(call())
    await asked.wait()
    await asyncio.sleep(0.1)
    await cancel_during_a_break(task, proxy)
    assert task.cancelled()
    await link.close()


async def test_a_listener_that_is_canceled_as_its_connection_breaks_ends(db: Database, proxy: Proxy) -> None:
    listener = Listener(proxy.url(database=db.name), lambda _: None, probe_seconds=1.0)
    task = asyncio.create_task(listener.run())
    await listener.listening()
    proxy.set("half-open")
    await asyncio.sleep(1.3)  # it is probing now, and gets no answer
    await cancel_during_a_break(task, proxy)
    assert task.cancelled()
