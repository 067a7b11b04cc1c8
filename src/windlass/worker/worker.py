"""The worker: claims jobs, runs their handlers, keeps their leases and reports what became of them."""

import asyncio
import contextvars
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Self
from uuid import UUID

from windlass.client.detours import Detours
from windlass.db.connect import Pooler
from windlass.db.link import AsyncLink, SyncLink
from windlass.db.listen import GATE_NOTICE, RENEW_NOTICE, Listener
from windlass.errors import InvalidInput
from windlass.model import MAX_ERROR_BYTES, MAX_RESULT_BYTES, uuid7
from windlass.telemetry import Telemetry
from windlass.worker.attempts import Attempts
from windlass.worker.begins import Begins
from windlass.worker.claims import Claims
from windlass.worker.costs import Ledger
from windlass.worker.counts import Counts
from windlass.worker.farewell import say_farewell
from windlass.worker.flow import Flow
from windlass.worker.greeting import greeting
from windlass.worker.leases import Leases
from windlass.worker.options import check_node_name, check_numbers, check_queues
from windlass.worker.outage import Outage
from windlass.worker.patience import unless, within
from windlass.worker.registry import Registry
from windlass.worker.reporter import Reporter
from windlass.worker.signals import Signals
from windlass.worker.stand_in import StandIn
from windlass.worker.threads import in_own_thread
from windlass.worker.unclaimed import mention_unclaimed
from windlass.worker.upkeep import Upkeep
from windlass.worker.view import View
from windlass.worker.words import Limits

__all__ = ["Worker"]

_CLAIM_PATIENCE = 5.0
_UNWIND_PATIENCE = 0.5
_REPORT_PATIENCE = 5.0
_FAREWELL_PATIENCE = 2.0


class Worker(View):
    """Runs the kinds of a registry; use as `async with`.

    It keeps four connections: one claims, one reports, one (in a thread) renews, one listens; and a fifth
    while there are reports that may have to wait for somebody's transaction.  Whatever becomes of the
    database, it goes on until it is asked to stop.
    """

    def __init__(
        self,
        database_url: str,
        registry: Registry,
        *,
        queues: str | Sequence[str] = ("default",),
        concurrency: int = 10,
        lease_seconds: float = 30.0,
        poll_seconds: float = 0.5,
        grace_seconds: float = 30.0,
        node_name: str | None = None,
        pooler: Pooler = "none",
        listen_url: str | None = None,
        telemetry: Telemetry | None = None,
        max_result_bytes: int = MAX_RESULT_BYTES,
        max_error_bytes: int = MAX_ERROR_BYTES,
        detours: Detours | None = None,
    ) -> None:
        check_numbers(
            concurrency, lease_seconds=lease_seconds, poll_seconds=poll_seconds, grace_seconds=grace_seconds
        )
        self.node_id: UUID = uuid7()
        self.node_name = check_node_name(node_name or socket.gethostname())
        self.queues = check_queues(queues)
        self.concurrency, self.counts = concurrency, Counts()
        self._url, self._registry, self._lease_seconds = database_url, registry, lease_seconds
        self._poll_seconds, self._grace_seconds, self._detours = poll_seconds, grace_seconds, detours
        self._pooler: Pooler = pooler
        self._listen_url = listen_url or (database_url if pooler == "none" else None)
        self._limits = Limits(max_result_bytes, max_error_bytes)
        self._signals = Signals(telemetry, self.node_name, self.node_id)
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._known, self._hurry, self._stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()

    # Life ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._entered:
            raise InvalidInput("a worker runs once, and this one has been started already: make another")
        self._loop, self._scope = asyncio.get_running_loop(), contextvars.copy_context()
        self._wire()
        self._entered = True
        self.upkeep.start()
        self._spawn("claiming", self._claim)
        self._spawn("beginning", self._flow.begins.run)
        self._spawn("reporting", self._flow.reporter.run)
        self._spawn("reporting apart", self._flow.reporter.apart.run)
        self._spawn("recording costs", self._ledger.run)
        if self._listener is not None:
            self._spawn("listening", self._listener.run)
        self._signals.worker("worker.started", queues=list(self.queues), concurrency=self.concurrency)
        mention_unclaimed(self._registry, self.queues, self._signals)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def request_stop(self) -> None:
        """Stop claiming and finish within the grace period; asked again, release what is left now.

        Of a worker that was not entered yet there is nothing to stop.
        """
        if not self._entered:
            return
        if self._stopping is None:
            self._flow.claims.stop()  # at once: a slot may become free before the task begins
            # A handler may have asked: what is told of the end is not told of its job.
            self._stopping = self._scope.run(self._loop.create_task, self._stop(), name="windlass stop")
        else:
            self._hurry.set()

    async def stop(self) -> None:
        """Stop, and wait for that."""
        if self._stopping is None:
            self.request_stop()
        if self._entered:
            await self._stopped.wait()

    async def run_until_stopped(self) -> None:
        """Wait until somebody has stopped the worker."""
        await self._stopped.wait()

    def _wire(self) -> None:
        leases, signals = Leases(self._lease_seconds), self._signals
        self._claim_link = AsyncLink(self._url, pooler=self._pooler, application_name=self._name("claim"))
        self._report_link = AsyncLink(self._url, pooler=self._pooler, application_name=self._name("report"))
        self._apart_link = AsyncLink(self._url, pooler=self._pooler, application_name=self._name("apart"))
        self._listener = None
        if self._listen_url is not None:
            self._listener = Listener(self._listen_url, self._notice, application_name=self._name("listen"))
        self._ledger = Ledger(self._report_link, Outage("recording costs", signals))
        self._flow = flow = Flow(self.concurrency, leases, self.counts, signals)
        room = (self._registry, self.concurrency, self.node_name, self._limits, signals.fault, self._detours)
        flow.attempts = Attempts(
            *room, say=flow.say, ended=flow.ended, record=self._ledger.record, node_id=self.node_id
        )
        flow.reporter = Reporter(self._report_link, self._apart_link, flow.answered, signals)
        flow.begins = Begins(self._claim_link, flow.begin, flow.refuse, Outage("beginning", signals))
        flow.claims = self._make_claims(flow)
        self.upkeep = self._make_upkeep(flow, leases)
        told = (flow.reporter, flow.begins, self.upkeep)
        flow.mismatch = lambda: any(lane.mismatch for lane in told)

    def _make_claims(self, flow: Flow) -> Claims:
        return Claims(
            self._claim_link,
            self.node_id,
            self.queues,
            self._registry.kinds(),
            lease_seconds=self._lease_seconds,
            poll_seconds=self._poll_seconds,
            # Who is given the lease version may fence by it: it must not be given out twice.
            durable=any(definition.wants_context for definition in self._registry),
            pooled=self._pooler != "none",
            demand=flow.demand,
            room=flow.room,
            admit=flow.admit,
            shed=flow.shed,
            listening=lambda: self._listener is not None and self._listener.alive,
            outage=Outage("claiming", self._signals),
        )

    def _make_upkeep(self, flow: Flow, leases: Leases) -> Upkeep:
        link = SyncLink(self._url, pooler=self._pooler, application_name=self._name("renew"))
        return Upkeep(
            link,
            leases,
            self._lease_seconds,
            lost=flow.hear_lost,
            cancel=flow.hear_cancel,
            gated=flow.hear_gate,
            heartbeat=greeting(
                self.node_id,
                self.node_name,
                queues=self.queues,
                kinds=self._registry.kinds(),
                concurrency=self.concurrency,
            ),
            known=self._tell_known,
            stand_in=StandIn(link, flow, leases, self._limits, self.node_id, self._signals),
            signals=self._signals,
        )

    def _name(self, lane: str) -> str:
        return f"windlass {lane} {self.node_name}"[:60]

    def _notice(self, node: str | None) -> None:
        if node is None:
            self._flow.claims.wake()
        elif node != GATE_NOTICE and not node.startswith(RENEW_NOTICE):
            self._flow.claims.hear(own=node == str(self.node_id))
        if node in (None, GATE_NOTICE, f"{RENEW_NOTICE}{self.node_id}"):
            self.upkeep.renew_soon()

    def _spawn(self, what: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.create_task(self._keep_going(what, run), name=f"windlass {what}"))

    async def _claim(self) -> None:
        # A gate may name this node, so the database must know the node before its first claim.
        await self._known.wait()
        await self._flow.claims.run()

    def _tell_known(self) -> None:
        with suppress(RuntimeError):  # of a closed loop
            self._loop.call_soon_threadsafe(self._known.set)

    async def _keep_going(self, what: str, run: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await run()
            except Exception as error:
                self._signals.fault(what, error)
                await asyncio.sleep(1.0)

    # The end ------------------------------------------------------------------------------------------------

    async def _stop(self) -> None:
        flow = self._flow
        self._signals.worker("worker.stopping", running=flow.attempts.busy, grace_seconds=self._grace_seconds)
        try:
            self._known.set()
            flow.close()
            # A claim under way is waited for: the jobs that it brings are given back.
            await within(_CLAIM_PATIENCE, unless(self._hurry, asyncio.wait(self._tasks[:1])))
            await within(self._grace_seconds, unless(self._hurry, flow.attempts.settled()))
            flow.attempts.stop_all("shutdown")
            await within(_UNWIND_PATIENCE, flow.attempts.settled())
            flow.attempts.give_up_all()
            patience = _UNWIND_PATIENCE if self._hurry.is_set() else _REPORT_PATIENCE
            await within(patience, flow.reporter.silent())
        finally:
            await self._close()

    async def _close(self) -> None:
        patience = _UNWIND_PATIENCE if self._hurry.is_set() else _FAREWELL_PATIENCE
        try:
            await in_own_thread(self.upkeep.stop, patience)
            await within(patience, say_farewell(self._report_link, self.node_id))
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for link in (self._claim_link, self._report_link, self._apart_link):
                await link.close()
        finally:
            self._ledger.close()
            self._flow.attempts.close()
            self._flow.summary.tell()
            self._signals.worker("worker.stopped", unreported=self._flow.reporter.backlog, stuck=self.stuck)
            self._stopped.set()
