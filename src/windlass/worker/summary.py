"""What a worker did of late, in one line of its log: a line for each success would cost more than the job."""

import asyncio
import logging
from dataclasses import replace

from windlass.model.names import plural
from windlass.worker.counts import Counts
from windlass.worker.leases import elapsed_clock
from windlass.worker.signals import Signals

__all__ = ["Summary"]

EVERY_SECONDS = 10.0
FIRST_SECONDS = 1.0
"""After a rest, from the first job that ends until it is told of: somebody may be looking on."""


class Summary:
    """Speaks at most every ten seconds, and only where jobs have ended since it last spoke.

    There is no clockwork: the first job that ends after a line sets the time of the next one.
    """

    def __init__(self, counts: Counts, signals: Signals) -> None:
        self._counts = counts
        self._signals = signals
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._before = Counts()
        self._since = 0.0
        self._told_at = float("-inf")

    def expect(self) -> None:
        """Something is about to be counted."""
        if self._timer is None and self._signals.heard(logging.INFO):
            self._before, self._since = replace(self._counts), elapsed_clock()
            wait = max(FIRST_SECONDS, self._told_at + EVERY_SECONDS - self._since)
            self._timer = self._loop.call_later(wait, self.tell)

    def tell(self) -> None:
        """Tell now what was counted since `expect`, if anything."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._told_at = elapsed_clock()
        seconds, counts, before = self._told_at - self._since, self._counts, self._before
        dead = counts.dead - before.dead
        # A failure that is tried again, and one that was the last, are told apart.
        failed = counts.failed + counts.timed_out - before.failed - before.timed_out - dead
        found = {
            "succeeded": counts.succeeded - before.succeeded,
            "failed": failed,
            "dead": dead,
            "skipped": counts.skipped - before.skipped,
            "canceled": counts.canceled - before.canceled,
            "snoozed": counts.snoozed - before.snoozed,
            "released": counts.released - before.released,
            "lost": counts.lost - before.lost,
        }
        if any(found.values()):
            rest = "".join(f", {n:,} {name}" for name, n in found.items() if n and name != "succeeded")
            message = f"{plural(found['succeeded'], 'job')} succeeded{rest} in {seconds:.1f} s"
            self._signals.worker("worker.summary", message=message, seconds=round(seconds, 3), **found)
