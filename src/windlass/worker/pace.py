"""How fast jobs end, and so how many are worth having ahead."""

import math

from windlass.worker.leases import elapsed_clock

__all__ = ["Pace"]

MAX_AHEAD = 1000
HORIZON_SECONDS = 0.1
_MEMORY_SECONDS = 0.25
_BURST = 100
"""So many within the memory, after none, say at once how fast they are, and need not outweigh the silence."""
_LULL_SECONDS = 1.0


class Pace:
    """How many jobs end per second, of late."""

    def __init__(self) -> None:
        self._count = 0
        self._rate = 0.0
        self._mark = self._seen = elapsed_clock()
        self._silent = True

    def note(self, count: int = 1) -> None:
        if self._silent and not self._count:
            self._mark = elapsed_clock()
        self._count += count

    def rate(self) -> float:
        now = elapsed_clock()
        passed = now - self._mark
        if passed >= 0.01:
            if not self._silent or passed >= _MEMORY_SECONDS:
                self._rate += (self._count / passed - self._rate) * (1 - math.exp(-passed / _MEMORY_SECONDS))
            elif self._count >= _BURST:
                self._rate = self._count / passed
            else:
                return self._rate
            if self._count:
                self._silent, self._seen = False, now
            elif now - self._seen >= _LULL_SECONDS:
                self._silent, self._rate = True, 0.0
            self._count, self._mark = 0, now
        return self._rate

    def ahead(self) -> int:
        """How many jobs are worth having beyond those that run: none where one takes long."""
        return min(MAX_AHEAD, int(self.rate() * HORIZON_SECONDS))
