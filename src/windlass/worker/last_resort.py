"""The end of a process whose event loop is blocked by a handler and so cannot end it."""

import asyncio
import signal
from collections.abc import Callable, Iterable
from typing import Protocol

from windlass.worker.leases import elapsed_clock
from windlass.worker.silence import Silence
from windlass.worker.stand_in import SILENT_SECONDS
from windlass.worker.stop_signals import StopSignals

__all__ = ["LastResort"]

_LOOK_SECONDS = 0.1
_PATIENCE, _HURRIED_PATIENCE = 5.0, 2.0


class Upkeep(Protocol):
    """What gives back what a worker holds (see upkeep.py)."""

    def ask_stop(self) -> None: ...

    def leave(self, seconds: float) -> bool: ...


class LastResort:
    """From `open` to `close` it hears these signals beside the loop, which does what they ask for.

    While the loop is blocked, `upkeep` does in its place what can be done.  At the first signal what has not
    begun is given back; after the grace period, or at the second, all that is held, and `end` is called,
    which ends the process.  As ever, a hang-up is no second signal.
    """

    def __init__(
        self,
        numbers: Iterable[int],
        upkeep: Callable[[], Upkeep | None],
        grace_seconds: float,
        end: Callable[[], None],
    ) -> None:
        self._upkeep = upkeep
        self._grace_seconds = grace_seconds
        self._end = end
        self._silence = Silence(asyncio.get_running_loop(), 2 * _LOOK_SECONDS)
        self._end_at: float | None = None
        self._hurry = False
        self._signals = StopSignals(numbers, self._hear, self._look, _LOOK_SECONDS)
        self.open, self.close = self._signals.open, self._signals.close

    def _hear(self, number: int) -> None:
        if self._end_at is None:
            self._end_at = elapsed_clock() + self._grace_seconds
        elif number != signal.SIGHUP:
            self._hurry = True
        self._look()

    def _look(self) -> None:
        upkeep, silent = self._upkeep(), self._silence.look()
        if upkeep is None or self._end_at is None:
            return
        upkeep.ask_stop()
        if silent >= SILENT_SECONDS and (self._hurry or elapsed_clock() >= self._end_at):
            upkeep.leave(_HURRIED_PATIENCE if self._hurry else _PATIENCE)
            self._end()
