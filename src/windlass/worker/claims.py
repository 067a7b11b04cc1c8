"""The loop that claims: ahead of need while jobs are quick, no more than can start while they are slow."""

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from uuid import UUID

from windlass.db.link import AsyncLink
from windlass.db.rpc import claim_jobs
from windlass.db.rpc_node import undurable
from windlass.errors import WindlassError
from windlass.model import ClaimedJob
from windlass.worker.leases import elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.patience import within

__all__ = ["Claims", "Pace"]

MAX_BATCH = 500
MAX_AHEAD = 1000
HORIZON_SECONDS = 0.1
_MEMORY_SECONDS = 0.25
_SHED_SECONDS = 1.0
_FIRST_LULL_SECONDS, _LAST_LULL_SECONDS = 0.03, 0.3


class Pace:
    """How many jobs end per second, of late."""

    def __init__(self) -> None:
        self._count = 0
        self._rate = 0.0
        self._mark = elapsed_clock()

    def note(self) -> None:
        self._count += 1

    def rate(self) -> float:
        now = elapsed_clock()
        passed = now - self._mark
        if passed >= 0.01:
            weight = 1 - math.exp(-passed / _MEMORY_SECONDS)
            self._rate += (self._count / passed - self._rate) * weight
            self._count, self._mark = 0, now
        return self._rate

    def ahead(self) -> int:
        """How many jobs are worth having beyond those that run: none where one takes long."""
        return min(MAX_AHEAD, int(self.rate() * HORIZON_SECONDS))


class Claims:
    """Asks for jobs while `demand` says how many, and hands them to `admit`.

    An empty answer means that there is no more for now: it then waits for a notice, and asks without one
    after the poll interval.  The wish for notices is written by the empty claim itself, so the first one
    is followed by one more, for what came in between.  An enqueue that looked for
    wishes before that, and commits after it, sends no notice and is not found either: after work was found
    the first waits are therefore short.
    """

    def __init__(
        self,
        link: AsyncLink,
        node_id: UUID,
        queues: Sequence[str],
        kinds: Sequence[str],
        *,
        lease_seconds: float,
        poll_seconds: float,
        durable: bool,
        demand: Callable[[], int],
        admit: Callable[[list[ClaimedJob], float], None],
        shed: Callable[[], None],
        listening: Callable[[], bool],
        outage: Outage,
    ) -> None:
        self._link = link
        self._node_id = node_id
        self._queues = queues
        self._kinds = kinds
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        self._durable = durable
        self._demand = demand
        self._admit = admit
        self._shed = shed
        self._listening = listening
        self._outage = outage
        self._woken = asyncio.Event()
        self._dry = False
        self._lull = _FIRST_LULL_SECONDS
        self.resting = False
        """Whether it waits for a notice or for the next poll."""
        self._stopping = False
        self._answered = asyncio.Condition()
        self.asked = self.answered_empty = 0
        """The number of the latest claim, and of the latest that found nothing."""

    def wake(self) -> None:
        """There may be new work."""
        self._dry = False
        self._woken.set()

    def make_room(self) -> None:
        """A slot is free; worth a claim only where the last one did not come back short."""
        if not self._dry:
            self._woken.set()

    def stop(self) -> None:
        """No further claim; one that is under way is still admitted."""
        self._stopping = True
        self._woken.set()

    async def found_nothing(self) -> None:
        """A probe: wait for a claim that begins after this call and finds nothing."""
        async with self._answered:
            after = self.asked
            self.wake()
            await self._answered.wait_for(lambda: self.answered_empty > after or self._stopping)

    async def run(self) -> None:
        """Claim until stopped."""
        waiting = False
        while not self._stopping:
            self._woken.clear()
            want = self._demand()
            if want <= 0:
                self._dry = False
                self._shed()
                await self._wait(_SHED_SECONDS)
                continue
            self._dry = True  # a notice that comes while the claim is under way takes this back
            got = await self._claim(want, self._listening())
            if got is None or got >= want:
                waiting, self._dry = False, False
            elif got > 0:
                waiting, self._dry = False, False  # only a claim that finds nothing asks for notices
            elif self._listening() and not waiting:
                waiting, self._dry = True, False
            elif self._dry:
                await self._rest()
        async with self._answered:
            self._answered.notify_all()

    async def _claim(self, want: int, wait: bool) -> int | None:
        self.asked += 1
        number, since = self.asked, elapsed_clock()
        call = claim_jobs(self._node_id, self._queues, self._kinds, want, self._lease_seconds, wait=wait)
        try:
            jobs = await self._link.run(call if self._durable else undurable(call))
        except WindlassError as error:
            await self._wait(self._outage.failed(error))
            return None
        self._outage.over()
        if jobs:
            self._lull = _FIRST_LULL_SECONDS
            self._admit(jobs, since)
        else:
            async with self._answered:
                self.answered_empty = number
                self._answered.notify_all()
        return len(jobs)

    async def _rest(self) -> None:
        if self._lull < min(_LAST_LULL_SECONDS, self._poll_seconds):
            longest, self._lull = self._lull, 2 * self._lull
        else:
            longest, self.resting = self._poll_seconds, True
        await self._wait(longest * random.uniform(0.8, 1.0))
        self.resting = False

    async def _wait(self, seconds: float) -> None:
        await within(seconds, self._woken.wait())
