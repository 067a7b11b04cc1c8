"""A producer that keeps some jobs waiting, neither none nor ever more."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from bench.process import DriverProcess

__all__ = ["Feed"]

LEAST, MOST = 4_000, 30_000
CHUNK = 2_000


class Feed:
    """Hands out job numbers from 0 on, and enqueues as many as the workers need for about a second."""

    def __init__(
        self, producer: DriverProcess, workers: Sequence[DriverProcess], chunk: int = CHUNK, **options: Any
    ) -> None:
        self._producer = producer
        self._workers = workers
        self._chunk = chunk
        self._options = options
        self.given = 0

    @property
    def handled(self) -> int:
        return sum(worker.handled for worker in self._workers)

    def take(self, count: int) -> int:
        """The first of so many numbers, which are the caller's to enqueue."""
        first = self.given
        self.given += count
        return first

    async def fill(self, count: int) -> None:
        first = self.take(count)
        await self._producer.call("bulk", first=first, count=count, batch=self._chunk, **self._options)

    async def run(self, seconds: float) -> None:
        began, handled_before = time.monotonic(), self.handled
        while (passed := time.monotonic() - began) < seconds:
            rate = (self.handled - handled_before) / passed if passed > 0.5 else 0.0
            wanted = min(MOST, max(LEAST, int(rate)))
            if self.given - self.handled < wanted:
                await self.fill(self._chunk)
            else:
                await asyncio.sleep(0.005)
