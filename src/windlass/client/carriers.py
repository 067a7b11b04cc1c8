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


class _Place(NamedTuple):
    """Where a pool can be used."""

    process: int
    loop: asyncio.AbstractEventLoop


def _here() -> _Place:
    return _Place(os.getpid(), asyncio.get_running_loop())


class AsyncPoolCarrier:
    """A pool for each event loop that uses it."""

    def __init__(self, settings: Settings, *, size: int, patience: float) -> None:
        self._settings = settings
        self._options: dict[str, Any] = {
            "pooler": settings.pooler,
            "max_size": size,
            "timeout": max(patience, _LEAST_TIMEOUT),
        }
        self._open: dict[_Place, _Opened] = {}
        self._opening: dict[_Place, asyncio.Task[_Opened]] = {}

    async def open(self) -> "_Opened":
        """The pool, opened if it is not open here; the first connection says at once what is wrong.

        However many ask at the same time, it is opened once, in a task of its own: whoever asked first may
        be canceled, and the others wait on.
        """
        here = _here()
        if (opened := self._open.get(here)) is not None:
            return opened
        opening = self._opening.get(here)
        if opening is None:
            opening = self._opening[here] = here.loop.create_task(self._open_at(here))
            # A failure is for those who wait now: the next one tries again.
            opening.add_done_callback(lambda _: self._opening.pop(here, None))
        return await asyncio.shield(opening)

    async def _open_at(self, here: "_Place") -> "_Opened":
        self._forget_ended_loops()
        url = database_url(self._settings)
        await (await connect_async(url, pooler=self._settings.pooler)).close()
        fresh = AsyncDatabase(url, **self._options)
        await fresh.open()
        self._open[here] = opened = _Opened(fresh, Gatherer(fresh.run))
        return opened

    def _forget_ended_loops(self) -> None:
        # Loops of other threads come and go meanwhile: so over a copy, and whatever is gone is gone.
        for places in (self._open, self._opening):
            for place in list(places):
                if place.loop.is_closed():
                    places.pop(place, None)

    async def close(self) -> None:
        """Close the pool of this event loop; one of another loop can be closed only there."""
        here = _here()
        if (opening := self._opening.get(here)) is not None:
            await asyncio.wait([opening])
        opened = self._open.pop(here, None)
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
