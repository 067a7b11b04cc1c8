"""When running attempts are due to be stopped: one timer for all of them."""

import asyncio
import math
from collections.abc import Callable, Collection

from windlass.worker.attempt import Attempt
from windlass.worker.leases import elapsed_clock

__all__ = ["Deadlines"]


class Deadlines:
    """Calls `overdue` with each of the attempts that is due.

    Most end long before, so nothing is entered for one and taken back: the timer is set to the earliest of
    the moments that were named, and when it goes off, the attempts that are left are asked for theirs.
    """

    def __init__(self, attempts: Collection[Attempt], overdue: Callable[[Attempt], None]) -> None:
        self._attempts = attempts
        self._overdue = overdue
        self._loop = asyncio.get_running_loop()
        self._next = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def expect(self, attempt: Attempt) -> None:
        """This one has a moment at which it is due, or another one than before."""
        if (due := attempt.due) < self._next:
            self._set(due)

    def close(self) -> None:
        self._next = -math.inf
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = due
        self._timer = self._loop.call_later(max(0.0, due - elapsed_clock()), self._look)

    def _look(self) -> None:
        self._next, now = math.inf, elapsed_clock()
        try:
            for attempt in tuple(self._attempts):
                if attempt.due <= now:
                    self._overdue(attempt)
        finally:  # whatever one of them came to, the others are due when they are
            due = min((attempt.due for attempt in self._attempts), default=math.inf)
            if due < self._next:
                self._set(due)
