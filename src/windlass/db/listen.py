"""The one connection of a process that waits for notices of new work.

It is in autocommit mode and runs nothing else, so it holds back neither vacuum nor the notice queue.
A listener can die without a word (a half-open connection, a pooler that took its session away), so it
asks its own session again and again whether it still listens.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection, OperationalError

from windlass.db.cancel import heeding
from windlass.db.connect import connect_async, translated
from windlass.db.link import Backoff
from windlass.errors import Unavailable, WindlassError

__all__ = ["CHANNEL", "GATE_NOTICE", "RENEW_NOTICE", "Listener"]

CHANNEL = "windlass"
GATE_NOTICE = "gate"
"""To all nodes: a gate was set, and may have closed on what they hold."""
RENEW_NOTICE = "renew "
"""To the node whose id follows: there is something to hear with a renewal."""
_PROBE = b"select count(*) from pg_catalog.pg_listening_channels() as c where c = 'windlass'"
_log = logging.getLogger("windlass.listen")


class Listener:
    """Calls `wake` with the queue of each notice, and with None once after it (again) began to listen.

    Between a lost session and the next one notices are lost too: None means "look for yourself".
    """

    def __init__(
        self,
        url: str,
        wake: Callable[[str | None], None],
        *,
        probe_seconds: float = 5.0,
        application_name: str = "windlass listen",
    ) -> None:
        self._url = url
        self._wake = wake
        self._probe_seconds = probe_seconds
        self._name = application_name
        self._listening = asyncio.Event()
        self.sessions = 0
        """How often it began to listen."""

    @property
    def alive(self) -> bool:
        return self._listening.is_set()

    async def listening(self) -> None:
        """Wait until it listens."""
        await self._listening.wait()

    async def run(self) -> None:
        """Listen until canceled, whatever becomes of the database."""
        backoff, told = Backoff(), 0
        while True:
            try:
                with heeding():
                    await self._listen(backoff)
            except WindlassError as error:
                if told <= self.sessions:  # once for each time that it is lost
                    told = self.sessions + 1
                    _log.warning("not listening for new work, polling only: %s", error)
            finally:
                self._listening.clear()
            await asyncio.sleep(backoff.next())

    async def _listen(self, backoff: Backoff) -> None:
        connection = await connect_async(self._url, application_name=self._name)
        try:
            with translated():
                # For those that come while a statement is under way; all others are heard by `_hear`.
                connection.add_notify_handler(lambda notice: self._wake(notice.payload))
                await connection.execute(b"listen windlass")
                self.sessions += 1
                self._listening.set()
                self._wake(None)
                while True:
                    await self._hear(connection)
                    await self._probe(connection)
                    backoff.reset()
        finally:
            await connection.close()

    async def _hear(self, connection: AsyncConnection[Any]) -> None:
        """Take notices from the socket until the next probe is due.

        Not by a task that is woken for each: that is a tenth of what a lone job waits for its worker.
        """
        loop, socket = asyncio.get_running_loop(), connection.fileno()
        over: asyncio.Future[None] = loop.create_future()

        def read() -> None:
            try:
                connection.pgconn.consume_input()
                while (notice := connection.pgconn.notifies()) is not None:
                    self._wake(notice.extra.decode())
            except OperationalError as error:
                if not over.done():
                    over.set_exception(error)

        def end() -> None:
            if not over.done():
                over.set_result(None)

        timer = loop.call_later(self._probe_seconds, end)
        loop.add_reader(socket, read)
        try:
            await over
        finally:
            timer.cancel()
            loop.remove_reader(socket)

    async def _probe(self, connection: AsyncConnection[Any]) -> None:
        try:
            async with asyncio.timeout(self._probe_seconds):
                cursor = await connection.execute(_PROBE)
                row = await cursor.fetchone()
        except TimeoutError:
            raise Unavailable("the listening connection does not answer") from None
        if row is None or row[0] != 1:
            raise Unavailable("the session no longer listens: is there a pooler in between?")
