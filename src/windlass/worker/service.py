"""A loop with a start and a stop: the one shape of everything that a node does by itself."""

import asyncio
import random
from collections.abc import Callable
from typing import Protocol, TypeVar

from windlass.db.call import Call
from windlass.errors import WindlassError
from windlass.worker.outage import Outage
from windlass.worker.patience import within
from windlass.worker.signals import Signals

__all__ = ["Runner", "Service"]

T = TypeVar("T")

_SPARED_TICKS = 5


class Runner(Protocol):
    """Whatever carries out calls: a link, or a pool."""

    async def run(self, call: Call[T]) -> T: ...


class Service:
    """Calls `tick` every `interval` seconds, a little jittered, from `start` to `stop`.

    A tick that fails because of the database is tried again after a growing wait; any other error is a
    fault of ours, is logged, and waits for the next interval.  Neither ends the service.

    While `spared` says that somebody else is at it, it works at every fifth interval only: never not at
    all, since whoever is at it may fail.
    """

    name = "service"

    def __init__(
        self,
        runner: Runner,
        interval: float,
        signals: Signals | None = None,
        spared: Callable[[], bool] | None = None,
    ) -> None:
        self._runner = runner
        self._interval = interval
        self._spared = spared
        self._ticks = 0
        self._signals = signals or Signals()
        self._outage = Outage(self.name, self._signals)
        self._woken = asyncio.Event()
        self._ticked = asyncio.Condition()
        self._begun = self._ended = 0
        self._task: asyncio.Task[None] | None = None

    async def tick(self) -> None:
        """Do the work once."""
        raise NotImplementedError

    async def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"windlass {self.name}")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def wake(self) -> None:
        """Tick now instead of at the end of the interval."""
        self._woken.set()

    async def ticked(self) -> None:
        """A probe: wait until a tick that begins after this call has ended well."""
        async with self._ticked:
            target = self._begun + 1
            self.wake()
            await self._ticked.wait_for(lambda: self._ended >= target)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            wait = await self._try()
            await within(wait, self._woken.wait())

    async def _tick_unless_spared(self) -> None:
        self._ticks += 1
        if self._spared is None or not self._spared() or self._ticks % _SPARED_TICKS == 0:
            await self.tick()

    async def _try(self) -> float:
        self._begun += 1
        number = self._begun
        try:
            await self._tick_unless_spared()
        except WindlassError as error:
            return self._outage.failed(error)
        except Exception as error:
            self._signals.fault(self.name, error)
        else:
            self._outage.over()
            async with self._ticked:
                self._ended = number
                self._ticked.notify_all()
        return self._interval * random.uniform(0.8, 1.0)
