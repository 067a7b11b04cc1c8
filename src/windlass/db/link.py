"""One connection of our own that comes back: opened when first needed, and anew after it broke.

For loops that must outlive the database.  A call that failed is not repeated here; the loop knows
whether it may say the same again, and waits as `Backoff` tells it.
"""

import asyncio
import os
import random
import socket
from contextlib import suppress
from typing import Any, TypeVar

from psycopg import AsyncConnection, Connection, OperationalError

from windlass.db.call import Call
from windlass.db.connect import Pooler, connect, connect_async
from windlass.db.database import run, run_async, survives

__all__ = ["AsyncLink", "Backoff", "SyncLink", "hang_up"]

T = TypeVar("T")


class Backoff:
    """How long to wait before trying again: longer each time up to a cap, never in step with others.

    The cap is short.  After a failover the first connection that succeeds is what people wait for.
    """

    def __init__(self, first: float = 0.05, cap: float = 2.0) -> None:
        self._first = first
        self._cap = cap
        self._next = first

    def next(self) -> float:
        longest, self._next = self._next, min(self._cap, 2 * self._next)
        return random.uniform(longest / 2, longest)

    def reset(self) -> None:
        self._next = self._first


class AsyncLink:
    """A connection on the event loop; calls on it take turns."""

    def __init__(self, url: str, *, pooler: Pooler = "none", application_name: str = "windlass") -> None:
        self._url = url
        self._pooler = pooler
        self._name = application_name
        self._turn = asyncio.Lock()
        self.opened = 0
        """How many connections it had so far."""
        self._connection: AsyncConnection[Any] | None = None

    async def run(self, call: Call[T]) -> T:
        async with self._turn:
            if self._connection is None:
                self._connection = await connect_async(
                    self._url, pooler=self._pooler, application_name=self._name
                )
                self.opened += 1
            connection = self._connection
            try:
                return await run_async(connection, call)
            except BaseException as error:
                if not survives(connection, error):
                    await self._drop()
                raise

    async def close(self) -> None:
        async with self._turn:
            await self._drop()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


class SyncLink:
    """The same for one thread."""

    def __init__(self, url: str, *, pooler: Pooler = "none", application_name: str = "windlass") -> None:
        self._url = url
        self._pooler = pooler
        self._name = application_name
        self._connection: Connection[Any] | None = None

    def run(self, call: Call[T]) -> T:
        if self._connection is None:
            self._connection = connect(self._url, pooler=self._pooler, application_name=self._name)
        try:
            return run(self._connection, call)
        except BaseException as error:
            if not survives(self._connection, error):
                self.close()
            raise

    def interrupt(self) -> None:
        """From another thread: hang up, so that a call that waits for an answer fails at once."""
        if (connection := self._connection) is not None:
            hang_up(connection)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def hang_up(connection: Connection[Any]) -> None:
    """From another thread than the one that uses the connection: end it under what waits there."""
    if connection.closed:
        return
    with suppress(OSError, OperationalError), socket.socket(fileno=os.dup(connection.fileno())) as copy:
        copy.shutdown(socket.SHUT_RDWR)
