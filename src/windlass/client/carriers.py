"""How an operation's calls reach the database: through a pool of our own, or on a caller's connection.

A pool is opened when it is first needed, on the event loop or in the process that needs it: a program
may make its client before it forks, and may run one event loop after another.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar, cast

from windlass.client.gather import Gatherer
from windlass.client.locate import database_url
from windlass.db.call import Call
from windlass.db.connect import connect, connect_async
from windlass.db.database import AsyncDatabase, SyncDatabase, run_together, run_together_async
from windlass.db.foreign import check_foreign, run_foreign, run_foreign_async
from windlass.db.rpc_enqueue import EnqueueCall
from windlass.settings import Settings

__all__ = ["AsyncForeignCarrier", "AsyncPoolCarrier", "ForeignCarrier", "PoolCarrier"]

T = TypeVar("T")

# A new connection takes its time, also for a client that has no patience for an outage.
_LEAST_TIMEOUT = 2.0


class _Opened(NamedTuple):
    database: AsyncDatabase
    gatherer: Gatherer


class AsyncPoolCarrier:
    """A pool for each event loop that uses it."""

    def __init__(self, settings: Settings, *, size: int, patience: float) -> None:
        self._settings = settings
        self._options: dict[str, Any] = {
            "pooler": settings.pooler,
            "max_size": size,
            "timeout": max(patience, _LEAST_TIMEOUT),
        }
        self._open: dict[tuple[int, asyncio.AbstractEventLoop], _Opened] = {}

    async def open(self) -> "_Opened":
        """The pool, opened if it is not open here; the first connection says at once what is wrong."""
        here = (os.getpid(), asyncio.get_running_loop())
        if here in self._open:
            return self._open[here]
        url = database_url(self._settings)
        await (await connect_async(url, pooler=self._settings.pooler)).close()
        fresh = AsyncDatabase(url, **self._options)
        await fresh.open()
        if (faster := self._open.get(here)) is not None:  # of another task
            await fresh.close()
            return faster
        for place in [place for place in self._open if place[1].is_closed()]:
            del self._open[place]
        self._open[here] = opened = _Opened(fresh, Gatherer(fresh.run))
        return opened

    async def close(self) -> None:
        """Close the pool of this event loop; one of another loop can be closed only there."""
        opened = self._open.pop((os.getpid(), asyncio.get_running_loop()), None)
        if opened is not None:
            await opened.database.close()

    async def run(self, call: Call[T]) -> T:
        opened = await self.open()
        if isinstance(call, EnqueueCall) and not call.alone:
            return cast(T, await opened.gatherer.enqueue(call))
        return await opened.database.run(call)

    async def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]:
        opened = await self.open()
        async with opened.database.connection() as connection:
            return await run_together_async(connection, calls)


class PoolCarrier:
    """The same for threads."""

    def __init__(self, settings: Settings, *, size: int, patience: float) -> None:
        self._settings = settings
        self._options: dict[str, Any] = {
            "pooler": settings.pooler,
            "max_size": size,
            "timeout": max(patience, _LEAST_TIMEOUT),
        }
        self._lock = threading.Lock()
        self._open: tuple[SyncDatabase, int, Any] | None = None

    def open(self) -> SyncDatabase:
        with self._lock:
            if self._open is not None and self._open[1] == os.getpid():
                return self._open[0]
            url = database_url(self._settings)
            connect(url, pooler=self._settings.pooler).close()
            database = SyncDatabase(url, **self._options)
            database.open()
            # The pool has threads: they end with the client or with the process, also where nobody closes it.
            closing = weakref.finalize(self, _close_at_home, database, os.getpid())
            self._open = (database, os.getpid(), closing)
            return database

    def close(self) -> None:
        with self._lock:
            opened, self._open = self._open, None
        if opened is not None:
            opened[2]()

    def run(self, call: Call[T]) -> T:
        database = self.open()
        return database.run(call)

    def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]:
        database = self.open()
        with database.connection() as connection:
            return run_together(connection, calls)


def _close_at_home(database: SyncDatabase, process: int) -> None:
    # A forked child shares the sockets: closing there would end its parent's connections.
    if os.getpid() == process:
        database.close()


class AsyncForeignCarrier:
    """A connection that belongs to the caller: never opened, closed or asked twice by us."""

    def __init__(self, connection: object) -> None:
        check_foreign(connection, is_async=True)
        self._connection = connection

    async def open(self) -> None:
        """Nothing: its owner opened it."""

    async def close(self) -> None:
        """Nothing: its owner closes it."""

    async def run(self, call: Call[T]) -> T:
        return await run_foreign_async(self._connection, call)

    async def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]:
        return [await self.run(call) for call in calls]


class ForeignCarrier:
    """The same for a synchronous connection."""

    def __init__(self, connection: object) -> None:
        check_foreign(connection, is_async=False)
        self._connection = connection

    def open(self) -> None:
        """Nothing: its owner opened it."""

    def close(self) -> None:
        """Nothing: its owner closes it."""

    def run(self, call: Call[T]) -> T:
        return run_foreign(self._connection, call)

    def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]:
        return [self.run(call) for call in calls]
