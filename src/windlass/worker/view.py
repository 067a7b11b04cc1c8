"""What can be seen of a worker from outside."""

import asyncio

from windlass.db.listen import Listener
from windlass.model import ClaimedJob
from windlass.worker.counts import Counts
from windlass.worker.flow import Flow
from windlass.worker.upkeep import Upkeep

__all__ = ["View"]


class View:
    """What a worker is doing; before it is entered, nothing."""

    counts: Counts
    upkeep: Upkeep
    _flow: Flow
    _stopped: asyncio.Event
    _listener: Listener | None = None
    _entered = False

    @property
    def running(self) -> list[ClaimedJob]:
        """The jobs whose handlers run now."""
        return self._flow.attempts.running if self._entered else []

    @property
    def buffered(self) -> int:
        """Jobs claimed ahead and not started."""
        return self._flow.buffered if self._entered else 0

    @property
    def stuck(self) -> int:
        """Handlers that run on although their attempts were ended: each still takes a slot."""
        return self._flow.attempts.stuck if self._entered else 0

    @property
    def resting(self) -> bool:
        """Whether there was nothing to claim for a while: it waits for a notice or for the next poll."""
        return self._entered and self._flow.claims.resting

    @property
    def claims_made(self) -> int:
        """How many times the database was asked for jobs."""
        return self._flow.claims.asked if self._entered else 0

    @property
    def renewals(self) -> int:
        """How many times the leases were renewed."""
        return self.upkeep.renewals if self._entered else 0

    @property
    def child_pids(self) -> list[int]:
        return self._flow.attempts.child_pids if self._entered else []

    @property
    def listener(self) -> Listener | None:
        return self._listener

    async def idle(self) -> None:
        """A probe: wait until nothing can be claimed and nothing runs.

        Everything that was committed before the call is then done with, or not due, or not for this worker.
        """
        while self._entered and not self._stopped.is_set():
            await self._flow.attempts.quiet()
            await self._flow.reporter.silent()
            claimed = self.counts.claimed
            await self._flow.claims.found_nothing()
            if self._flow.empty and self.counts.claimed == claimed:
                return
