"""Whether the event loop still turns, as seen from a thread."""

import asyncio

from windlass.worker.leases import elapsed_clock

__all__ = ["Silence"]


class Silence:
    """Asks the loop for a sign of life, one question at a time, at each `look`; one comes every `interval`.

    Of the time between two looks no more than an interval counts.  After a pause of the whole process, or
    after a call that took long, the loop has had no more time to answer than the thread had to ask.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, interval: float) -> None:
        self._loop = loop
        self._interval = interval
        self._answered = True
        self._looked = elapsed_clock()
        self._seconds = 0.0

    def look(self) -> float:
        """For how many seconds the loop owes an answer."""
        now = elapsed_clock()
        if self._answered:
            self._answered, self._seconds = False, 0.0
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:  # of a closed loop, on which nothing is held up
                self._answered = True
        else:
            self._seconds += min(now - self._looked, self._interval)
        self._looked = now
        return self._seconds

    def _answer(self) -> None:
        self._answered = True
