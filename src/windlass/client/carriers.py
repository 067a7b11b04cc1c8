"""How an operation's calls reach the database: through a pool of our own, or on a caller's connection.

A pool is opened when it is first needed, on the event loop or in the process that needs it: a program
may make its client before it forks, and may run one event loop after another.
"""

import asyncio
import os
import threading
import weakref
from typing import Any, TypeVar

from windlass.client.locate import database_url
from windlass.db.call import Call
from windlass.db.connect import connect, connect_async
from windlass.db.database import AsyncDatabase, SyncDatabase, run, run_async
from windlass.db.foreign import check_foreign, run_foreign, run_foreign_async
from windlass.settings import Settings

__all__ = ["AsyncForeignCarrier", "AsyncPoolCarrier", "ForeignCarrier", "PoolCarrier"]

T = TypeVar("T")


class AsyncPoolCarrier:
    """A pool on the running event loop."""

    def __init__(self, settings: Settings, *, size: int, patience: float) -> None:
        self._settings = settings
        self._options: dict[str, Any] = {"pooler": settings.pooler, "max_size": size, "timeout": patience}
        self._open: tuple[AsyncDatabase, int, asyncio.AbstractEventLoop] | None = None

    async def open(self) -> AsyncDatabase:
        """The pool, opened if it is not open here; the first connection says at once what is wrong."""
        if (database := self._opened_here()) is not None:
            return database
        url = database_url(self._settings)
        await (await connect_async(url, pooler=self._settings.pooler)).close()
        fresh = AsyncDatabase(url, **self._options)
        await fresh.open()
        if (database := self._opened_here()) is not None:  # somebody else was faster
            await fresh.close()
            return database
        self._open = (fresh, os.getpid(), asyncio.get_running_loop())
        return fresh

    def _opened_here(self) -> AsyncDatabase | None:
        if self._open is None or self._open[1:] != (os.getpid(), asyncio.get_running_loop()):
            return None
        return self._open[0]

    async def close(self) -> None:
        database, self._open = self._opened_here(), None
        if database is not None:
            await database.close()

    async def run(self, call: Call[T]) -> T:
        database = await self.open()
        return await database.run(call)

    async def run_together(self, calls: tuple[Call[Any], ...]) -> list[Any]:
        database = await self.open()
        async with database.connection() as connection, connection.transaction():
            return [await run_async(connection, call) for call in calls]


class PoolCarrier:
    """The same for threads."""

    def __init__(self, settings: Settings, *, size: int, patience: float) -> None:
        self._settings = settings
        self._options: dict[str, Any] = {"pooler": settings.pooler, "max_size": size, "timeout": patience}
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

    def run_together(self, calls: tuple[Call[Any], ...]) -> list[Any]:
        database = self.open()
        with database.connection() as connection, connection.transaction():
            return [run(connection, call) for call in calls]


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

    async def run_together(self, calls: tuple[Call[Any], ...]) -> list[Any]:
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

    def run_together(self, calls: tuple[Call[Any], ...]) -> list[Any]:
        return [self.run(call) for call in calls]
