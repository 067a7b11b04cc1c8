"""This node as a member of the cluster: its turns, its parts, and whether it leads."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from uuid import UUID

from windlass.cluster.kinds import ClusterKinds
from windlass.cluster.parts import Parts
from windlass.cluster.pulse import Pulse
from windlass.db.link import AsyncLink, SyncLink
from windlass.model import ClaimedJob
from windlass.model.cluster import Standing
from windlass.settings import Settings
from windlass.worker.leases import Leases
from windlass.worker.patience import unless, within
from windlass.worker.signals import Signals
from windlass.worker.threads import in_own_thread
from windlass.worker.words import Limits

__all__ = ["Member"]

_FAREWELL_SECONDS = 2.0


class Member:
    """Started before the worker and stopped after it: an action that is still running keeps its leader.

    `drained` is called, on the event loop, at each turn of a node that drains and has no part left;
    `listening` says whether a notice for this node would be heard.
    """

    def __init__(
        self,
        url: str,
        settings: Settings,
        kinds: ClusterKinds,
        node_id: UUID,
        *,
        signals: Signals,
        drained: Callable[[], None],
        listening: Callable[[], bool],
    ) -> None:
        name, seconds = settings.node_name, settings.cluster_lease_seconds
        self._loop = asyncio.get_running_loop()
        self._grace_seconds = settings.grace_seconds
        self._drained = drained
        self._link = AsyncLink(url, pooler=settings.pooler, application_name=f"windlass parts {name}"[:60])
        leases, local = Leases(seconds), kinds.local_work()
        self.parts = Parts(
            self._link,
            local,
            leases,
            concurrency=settings.concurrency,
            node_name=name,
            node_id=node_id,
            limits=Limits(settings.max_result_bytes, settings.max_error_bytes),
            signals=signals,
            freed=self.wake,
        )
        self.pulse = Pulse(
            SyncLink(url, pooler=settings.pooler, application_name=f"windlass cluster {name}"[:60]),
            node_id,
            self.parts,
            leases,
            address=settings.address,
            kinds=kinds.names(),
            local_kinds=local.kinds(),
            lease_seconds=seconds,
            poll_seconds=settings.poll_seconds,
            told=self._hear,
            listening=listening,
            signals=signals,
        )
        self._waiters: list[asyncio.Future[None]] = []
        self._stop_at: float | None = None
        self._hurry = asyncio.Event()
        self.standing: Standing | None = None
        """What the latest turn came to."""

    @property
    def leads(self) -> bool:
        return self.standing is not None and self.standing.leads

    @property
    def follows(self) -> bool:
        """Whether another node leads."""
        return self.standing is not None and not self.standing.leads and self.standing.leader_id is not None

    @property
    def running(self) -> list[ClaimedJob]:
        """The parts whose handlers run now."""
        return self.parts.running

    @property
    def stuck(self) -> int:
        """Handlers that run on although their parts were ended."""
        return self.parts.stuck

    async def turned(self, holds: Callable[[Standing], bool]) -> Standing:
        """A probe: wait for a turn of which that holds."""
        while self.standing is None or not holds(self.standing):
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter
        return self.standing

    def start(self) -> None:
        self.pulse.start()

    def wake(self) -> None:
        """There may be something to do: a part, a vacant leadership, a word to drain."""
        self.pulse.wake()

    def request_stop(self) -> None:
        """Take nothing new, hand the leadership over once no action runs here; asked again, hurry."""
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._grace_seconds
            self.pulse.standing = False
            self.wake()
        else:
            self._hurry.set()

    @property
    def _grace_left(self) -> float:
        return max(0.0, (self._stop_at or 0.0) - time.monotonic())

    @property
    def hurried(self) -> bool:
        """Whether it was asked to stop more than once."""
        return self._hurry.is_set()

    async def within_grace(self, goal: Coroutine[Any, Any, Any]) -> None:
        """Wait for `goal`, but no longer than the grace period, and not in a hurry."""
        await within(self._grace_left, unless(self._hurry, goal))

    async def stop(self) -> None:
        """Let parts finish within the grace period, give back the rest, and leave."""
        if self._stop_at is None:
            self.request_stop()
        await self.parts.stop(self._grace_left, self._hurry)
        await in_own_thread(self.pulse.stop, _FAREWELL_SECONDS)
        await self._link.close()

    def _hear(self, standing: Standing) -> None:
        with suppress(RuntimeError):  # of a closed loop
            self._loop.call_soon_threadsafe(self._note, standing)

    def _note(self, standing: Standing) -> None:
        self.standing = standing
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        if standing.draining and not standing.parts and self.parts.empty:
            self._drained()
