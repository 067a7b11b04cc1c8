"""A node that starts waits for its database, and for nothing else once it is asked to stop."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.crew import until
from tests.support import Database
from windlass.cluster import await_schema
from windlass.db.script import LOCK_KEY
from windlass.node import Node
from windlass.settings import Settings
from windlass.worker.registry import Registry
from windlass.worker.signals import Signals

PATIENCE = 10.0
WAITS = "select exists (select from pg_stat_activity where wait_event_type = 'Lock' and wait_event = %s)"


@pytest.fixture
def silent_url() -> Iterator[str]:
    """Hosts that let clients in and never say a word; nobody loses patience with them."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        hosts = ",".join(f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
        yield f"postgresql://somebody@{hosts}/x?connect_timeout=3600"


async def ends(task: asyncio.Task[Any]) -> bool:
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    if not done:
        task.cancel()
    return bool(done)


async def test_a_node_that_waits_for_a_lock_stops_when_it_is_asked_to(db: Database) -> None:
    node = Node(Settings(database_url=db.url()), Registry())
    holder = db.connect("superuser")
    with holder.transaction():
        holder.execute("lock table windlass_data.schema_version in access exclusive mode")
        task = asyncio.create_task(node.run())
        await until(lambda: db.fetch_value(WAITS, "relation", role="superuser"), "it waits for the lock")
        node.request_stop()
        assert await ends(task), "it waits on"
        assert task.result() is None
    assert node.worker is None


async def test_a_node_that_waits_for_silent_hosts_stops_when_it_is_asked_to(silent_url: str) -> None:
    node = Node(Settings(database_url=silent_url), Registry())
    task = asyncio.create_task(node.run())
    await asyncio.sleep(0.1)  # long enough to connect; before that it would stop too
    node.request_stop()
    assert await ends(task), "it waits on"
    assert task.result() is None


async def test_a_node_that_waits_for_another_migrator_stops_when_it_is_asked_to(db: Database) -> None:
    change = "update windlass_data.schema_version set sha256 = repeat('0', 64) where name = 'code'"
    db.execute(change, role="superuser")
    holder, stop = db.connect("superuser"), asyncio.Event()
    with holder.transaction():
        holder.execute(f"select pg_advisory_xact_lock({LOCK_KEY})")
        starting = await_schema(db.url(), "none", stop, Signals(), owner_url=db.url("owner"))
        task = asyncio.create_task(starting)
        await until(lambda: db.fetch_value(WAITS, "advisory", role="superuser"), "it waits for its turn")
        stop.set()
        assert await ends(task), "it waits on"
        assert task.result() is False
    assert await asyncio.wait_for(
        await_schema(db.url(), "none", asyncio.Event(), Signals(), owner_url=db.url("owner")), PATIENCE
    )
