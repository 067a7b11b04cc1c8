"""Handlers that wait, on the floor: so many coroutines that are never without a job while there is one.

Jobs are claimed ahead on one connection, so that the line in memory does not run dry; what is done is deleted
in batches on another, as many at a time as have come together meanwhile.  No handler waits for another.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

__all__ = ["Flow"]

Row = Sequence[Any]


class Flow:
    """`claim` gives rows that begin with an id, none if there are none; `nap` waits for some."""

    def __init__(
        self,
        *,
        claim: Callable[[], Awaitable[Sequence[Row]]],
        handle: Callable[[Row], Awaitable[None]],
        delete: Callable[[list[Any]], Awaitable[Any]],
        nap: Callable[[], Awaitable[None]],
        concurrency: int,
        least: int,
    ) -> None:
        self._claim, self._handle, self._delete, self._nap = claim, handle, delete, nap
        self._concurrency = concurrency
        self._least = least
        """Fewer in line than this: time to claim more."""
        self._line: deque[Row] = deque()
        self._done: list[Any] = []
        self._fed, self._low, self._some_done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._stopping = False
        self._ended = False

    def stop(self) -> None:
        """Claim no more; what was claimed is done and deleted."""
        self._stopping = True
        self._low.set()

    async def run(self) -> None:
        handlers = asyncio.gather(*(self._work() for _ in range(self._concurrency)))
        deleting = asyncio.create_task(self._report(handlers))
        await self._feed()
        await handlers
        self._some_done.set()
        await deleting

    async def _feed(self) -> None:
        while not self._stopping:
            self._low.clear()
            if len(self._line) >= self._least:
                await self._low.wait()
            elif rows := await self._claim():
                self._line.extend(rows)
                self._fed.set()
            else:
                await self._nap()
        self._ended = True
        self._fed.set()

    async def _work(self) -> None:
        while True:
            while not self._line:
                if self._ended:
                    return
                self._fed.clear()
                await self._fed.wait()
            row = self._line.popleft()
            if len(self._line) < self._least:
                self._low.set()
            await self._handle(row)
            self._done.append(row[0])
            self._some_done.set()

    async def _report(self, handlers: "asyncio.Future[Any]") -> None:
        while self._done or not handlers.done():
            if not self._done:
                await self._some_done.wait()
            self._some_done.clear()
            if ids := self._done:
                self._done = []
                await self._delete(ids)
