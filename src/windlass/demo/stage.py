"""Where the scenes play: the client, the workers, the view, and a record of everything that was promised."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from windlass.client import AsyncClient, JobHandle
from windlass.demo.tally import Tally, read_tally
from windlass.demo.view import View
from windlass.demo.workers import WORKERS, Workers
from windlass.errors import WaitTimeout
from windlass.model import NewJob

__all__ = ["TENANTS", "Record", "Stage"]

TENANTS = {"anchor-bank": "Anchor Bank", "beacon-books": "Beacon Books", "coral-clinic": "Coral Clinic"}

_LOOK_SECONDS = 0.15
_PATIENCE_SECONDS = 45.0


@dataclass(slots=True)
class Record:
    """What the demo was told when it asked, to be held against the database at the end."""

    enqueued: dict[UUID, str] = field(default_factory=dict)
    """Every id that an enqueue gave back, and whose job it is."""
    duplicates: list[tuple[UUID, UUID]] = field(default_factory=list)
    """The job found by a second enqueue with the same key, and the one of the first."""
    conflicts: int = 0
    held: dict[UUID, UUID] = field(default_factory=dict)
    """Jobs whose worker was killed, and its node."""
    poison: UUID | None = None
    canceled: UUID | None = None
    gated: list[UUID] = field(default_factory=list)
    past_the_gate: list[UUID] = field(default_factory=list)
    """Gated jobs that had begun all the same when the gate was about to be opened."""
    dead: list[UUID] = field(default_factory=list)
    """Jobs that were dead until the fix."""


class Stage:
    """Scenes enqueue through it, so that nothing is forgotten, and wait through it, so that nothing hangs."""

    def __init__(self, client: AsyncClient, workers: Workers, view: View) -> None:
        self.client = client
        self.workers = workers
        self.view = view
        self.record = Record()
        self.tally = Tally()

    async def enqueue(self, tenant: str, jobs: Iterable[NewJob]) -> list[UUID]:
        """Enqueue these, in one transaction, and remember them."""
        handles: list[JobHandle[object]] = await self.client.enqueue_jobs(jobs, tenant=tenant)
        self.record.enqueued.update((handle.id, tenant) for handle in handles)
        return [handle.id for handle in handles]

    async def until(self, what: str, reached: Callable[[Tally], bool]) -> Tally:
        """Wait for a look at the database that shows it."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            await self.look()
            if reached(self.tally):
                return self.tally
            if time.monotonic() > deadline:
                raise WaitTimeout(f"{what}: not so after {_PATIENCE_SECONDS:g} seconds")
            await asyncio.sleep(_LOOK_SECONDS)

    async def until_ended(self, ids: Iterable[UUID]) -> Tally:
        wanted = set(ids)
        return await self.until(
            f"{len(wanted)} jobs have ended",
            lambda tally: sum(job.state.terminal for job in tally.get(wanted)) == len(wanted),
        )

    async def until_ready(self) -> Tally:
        """Wait until each worker process has made itself known as a node."""
        pids = {worker.pid for worker in self.workers.current}
        return await self.until(
            "the workers are ready",
            lambda tally: len(pids) == WORKERS and pids <= {node.pid for node in tally.nodes},
        )

    async def look(self) -> Tally:
        self.workers.check()
        alive = frozenset(worker.pid for worker in self.workers.current if worker.alive)
        self.tally = await read_tally(self.client, TENANTS, alive)
        self.view.show(self.tally)
        return self.tally

    async def during(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        """Do something and keep looking meanwhile."""
        task = asyncio.create_task(work)
        try:
            await self.until(what, lambda _: task.done())
        finally:
            task.cancel()
            await asyncio.wait([task])
        task.result()
