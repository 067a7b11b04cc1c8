"""Run everything that is due, here and now, as a worker would: it is a worker."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from windlass.app import Windlass
from windlass.client import AsyncClient
from windlass.errors import InvalidInput, WindlassError
from windlass.model import Outcome
from windlass.telemetry import Signal, Telemetry, log_signals
from windlass.worker.options import queue_names
from windlass.worker.worker import Worker

__all__ = ["Ran", "run_due", "run_due_sync"]

_OUTCOMES = {f"job.{outcome}": outcome for outcome in Outcome}


@dataclass(frozen=True, slots=True)
class Ran:
    """One attempt that was made: of which job, and how it ended."""

    job_id: UUID
    tenant_id: UUID
    kind: str
    attempt: int
    outcome: Outcome
    result: Any = None
    error: Mapping[str, Any] | None = None
    """What is stored about a failure."""
    exception: BaseException | None = None
    """The exception itself, unless the handler ran in a process of its own."""


async def run_due(app: Windlass, *, queues: str | Sequence[str] = (), limit: int = 1000) -> list[Ran]:
    """Run the jobs of all tenants that can be claimed, one after another, until none is left that can.

    That includes what these jobs enqueue, and retries that are due at once; what is due later waits until
    the clock is moved.  Only kinds of this application are run, from all queues unless some are named.
    More than `limit` attempts are an error: some job calls itself back for ever.
    """
    ran: list[Ran] = []
    named = set(queue_names(queues))
    async with AsyncClient(app.settings) as client:
        served: set[str] = set()
        while not served.issuperset(wanted := named or await _all_queues(app, client)):
            served = wanted
            ran += await _run_until_idle(app, client, sorted(wanted), limit - len(ran))
    return ran


def run_due_sync(app: Windlass, *, queues: str | Sequence[str] = (), limit: int = 1000) -> list[Ran]:
    """`run_due` for tests without an event loop; async handlers get one for the time being."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_run_and_close(app, queues, limit))
    raise InvalidInput("there is an event loop here: await run_due(app) instead of run_due_sync(app)")


async def _run_and_close(app: Windlass, queues: str | Sequence[str], limit: int) -> list[Ran]:
    try:
        return await run_due(app, queues=queues, limit=limit)
    finally:
        await app.client.close()  # what handlers opened ends with this loop


async def _all_queues(app: Windlass, client: AsyncClient) -> set[str]:
    """Jobs may have been enqueued, also by the jobs that ran, into queues of any name."""
    known = {queue.name for queue in await client.list_queues()}
    return known | {definition.queue for definition in app.registry}


class _Collector:
    """Hears of each attempt that ended, and raises the alarm when there are too many."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.heard: list[tuple[Outcome, Mapping[str, Any]]] = []
        self.too_many = asyncio.Event()

    def __call__(self, signal: Signal) -> None:
        outcome = _OUTCOMES.get(signal.name)
        if outcome is not None and outcome is not Outcome.RELEASED:  # given back, so it did not run
            self.heard.append((outcome, signal.fields))
            if len(self.heard) > self._limit:
                self.too_many.set()


async def _run_until_idle(app: Windlass, client: AsyncClient, queues: Sequence[str], limit: int) -> list[Ran]:
    collector = _Collector(limit)
    telemetry = Telemetry([collector, log_signals(logging.getLogger("windlass.worker"))])
    async with app.worker(
        queues=queues, concurrency=1, grace_seconds=0.0, node_name="test", telemetry=telemetry, tends=False
    ) as worker:
        settling, alarm = asyncio.create_task(_settle(worker)), asyncio.create_task(collector.too_many.wait())
        try:
            await asyncio.wait([settling, alarm], return_when=asyncio.FIRST_COMPLETED)
        finally:
            settling.cancel()
            alarm.cancel()
            await asyncio.gather(settling, alarm, return_exceptions=True)
    if collector.too_many.is_set():
        outcome, fields = collector.heard[-1]
        raise WindlassError(
            f"after {limit} attempts still a job is due; the last one, of kind {fields['kind']!r}, {outcome}"
        )
    return [await _ran(client, outcome, fields) for outcome, fields in collector.heard]


async def _settle(worker: Worker) -> None:
    """Wait until the worker was idle for once without having claimed anything on the way there."""
    claimed = -1
    while worker.counts.claimed != claimed:
        claimed = worker.counts.claimed
        await worker.idle()


async def _ran(client: AsyncClient, outcome: Outcome, fields: Mapping[str, Any]) -> Ran:
    job_id, tenant_id = UUID(fields["job_id"]), UUID(fields["tenant_id"])
    number: int = fields["attempt"]
    (record,) = await client.list_attempts(job_id, tenant=tenant_id, limit=1, before=number + 1)
    return Ran(
        job_id=job_id,
        tenant_id=tenant_id,
        kind=fields["kind"],
        attempt=number,
        outcome=outcome,
        result=record.result,
        error=record.error,
        exception=fields.get("exception"),
    )
