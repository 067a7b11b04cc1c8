"""One process, wired from its settings: what it needs is opened in order, and closed in reverse."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Protocol

from windlass.client import database_url
from windlass.cluster import ClusterKinds, ClusterWorker, Member, await_schema, make_services
from windlass.db.embedded import EmbeddedServer, ensure_server
from windlass.db.link import AsyncLink
from windlass.db.main_program import refuse_while_reading
from windlass.model.cluster import CLUSTER_QUEUE
from windlass.settings import Settings
from windlass.telemetry import Telemetry
from windlass.worker.last_resort import LastResort
from windlass.worker.own_process import run_as_worker
from windlass.worker.process_end import end_now, end_over_handler
from windlass.worker.registry import Registry
from windlass.worker.service import Service
from windlass.worker.signals import Signals
from windlass.worker.threads import LoopThreads, in_own_thread
from windlass.worker.upkeep import Upkeep
from windlass.worker.worker import Worker

__all__ = ["Node", "run_node"]


class HasRegistry(Protocol):
    """An application, as far as a node knows one."""

    @property
    def registry(self) -> Registry: ...

    @property
    def cluster(self) -> ClusterKinds: ...


class ServerWatch(Service):
    """Brings the embedded server back if even its guardian was killed, or if it ended with another owner."""

    name = "embedded server"

    def __init__(self, server: EmbeddedServer, link: AsyncLink, signals: Signals) -> None:
        super().__init__(link, 5.0, signals)
        self._server = server

    async def tick(self) -> None:
        attached = not self._server.owner
        await in_own_thread(self._server.ensure_running)
        if attached and self._server.owner:
            self._signals.worker(
                "server.taken_over", message="the embedded server ended with its owner: started again, here"
            )


class Node:
    """The embedded server if asked for, the schema, the worker, its part in the cluster, and services.

    `start_server`: without a database URL in the settings, start the embedded server.  `migrates`: bring the
    schema to this release first; otherwise it is only checked.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        *,
        cluster: ClusterKinds | None = None,
        start_server: bool = False,
        migrates: bool = False,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._cluster = cluster or ClusterKinds()
        self._settings = settings
        self._registry = registry
        self._start_server = start_server
        self._migrates = migrates
        self._telemetry = telemetry
        self._signals = Signals(telemetry, settings.node_name)
        self._stop_requested = asyncio.Event()
        self._open = AsyncExitStack()
        self.server: EmbeddedServer | None = None
        self.url = ""
        self.worker: Worker | None = None
        self.member: Member | None = None
        self.services: tuple[Service, ...] = ()

    def request_stop(self) -> None:
        """Stop as the worker does: within the grace period, or, asked again, now."""
        self._stop_requested.set()
        if self.member is not None:
            self.member.request_stop()
        if self.worker is not None:
            self.worker.request_stop()

    def hang_up(self) -> None:
        """Stop since the terminal is gone; its shell and the system may both say so, which is asking once."""
        if not self._stop_requested.is_set():
            self.request_stop()

    def upkeep(self) -> Upkeep | None:
        """From any thread: what keeps the leases of the worker, while there is one."""
        return None if self.worker is None else self.worker.upkeep

    def end_over_handler(self) -> None:
        """From any thread: end the process, for a handler blocks the event loop, and nothing is held now."""
        end_over_handler(self._stop_server)

    def _stop_server(self) -> None:
        self._signals.worker("worker.stopped", message="ended over a handler that blocks the event loop")
        if self.server is not None:
            self.server.stop()

    def _leave_if_empty(self) -> None:
        """The end of a drained node: nothing can be claimed any more, and nothing is left here."""
        worker = self.worker
        if worker is not None and not (worker.running or worker.buffered or self._stop_requested.is_set()):
            self._signals.worker("node.drained", message="drained and empty: this node leaves")
            self.request_stop()

    async def run(self, ready: Callable[["Node"], None] | None = None) -> None:
        """Open everything, call `ready`, work until asked to stop, and close everything."""
        refuse_while_reading("starts a node")
        async with self._open:
            owner_url = await self._open_database()
            owner = owner_url if self._migrates else None
            pooler, stop = self._settings.pooler, self._stop_requested
            if await await_schema(self.url, pooler, stop, self._signals, owner_url=owner):
                await self._start()
                if ready is not None:
                    ready(self)
                await self._stop_requested.wait()

    @property
    def stuck(self) -> int:
        """Handlers, of jobs and of parts, that run on although their attempts were ended."""
        return sum(part.stuck for part in (self.worker, self.member) if part is not None)

    @property
    def hurried(self) -> bool:
        """Whether it was asked to stop more than once."""
        return self.member is not None and self.member.hurried

    async def within_grace(self, goal: Coroutine[Any, Any, Any]) -> None:
        """Of a node that has run: wait for `goal` for what is left of its grace period, unless in a hurry."""
        if self.member is not None:
            await self.member.within_grace(goal)
        else:
            goal.close()

    async def _open_database(self) -> str:
        settings = self._settings
        if settings.database_url is not None or not self._start_server:
            self.url = database_url(settings)
            return self.url
        database = await asyncio.to_thread(
            ensure_server, data_dir=settings.data_dir, bin_dir=settings.pg_bin, environ={}
        )
        self._open.push_async_callback(in_own_thread, database.close)
        self.url, self.server = database.app_url, database.server
        return database.owner_url

    async def _start(self) -> None:
        settings, signals = self._settings, self._signals
        worker = self._make_worker()
        self.member = member = Member(
            self.url,
            settings,
            self._cluster,
            worker.node_id,
            signals=signals,
            drained=self._leave_if_empty,
            listening=self._is_listening,
        )
        member.start()
        self._open.push_async_callback(member.stop)
        self.worker = await self._open.enter_async_context(worker)
        link = AsyncLink(
            self.url, pooler=settings.pooler, application_name=f"windlass node {settings.node_name}"[:60]
        )
        self._open.push_async_callback(link.close)
        self.services = make_services(link, worker, settings.retention_days, signals, lambda: member.follows)
        if self.server is not None:
            self.services += (ServerWatch(self.server, link, signals),)
        for service in self.services:
            await service.start()
            self._open.push_async_callback(service.stop)

    def _make_worker(self) -> Worker:
        settings = self._settings
        return ClusterWorker(
            self.url,
            self._cluster.with_actions(self._registry),
            queues=(*settings.queues, CLUSTER_QUEUE) if self._cluster else settings.queues,
            concurrency=settings.concurrency,
            lease_seconds=settings.lease_seconds,
            poll_seconds=settings.poll_seconds,
            grace_seconds=settings.grace_seconds,
            node_name=settings.node_name,
            pooler=settings.pooler,
            listen_url=settings.listen_url,
            telemetry=self._telemetry,
            max_result_bytes=settings.max_result_bytes,
            max_error_bytes=settings.max_error_bytes,
            woken=self._wake_member,
        )

    def _is_listening(self) -> bool:
        listener = None if self.worker is None else self.worker.listener
        return listener is not None and listener.alive

    def _wake_member(self) -> None:
        if self.member is not None:
            self.member.wake()


def run_node(
    settings: Settings,
    app: HasRegistry,
    *,
    start_server: bool = False,
    migrates: bool = False,
    telemetry: Telemetry | None = None,
    ready: Callable[[Node], None] | None = None,
) -> None:
    """Run a node in this process until SIGTERM, SIGINT or SIGHUP; a second of the first two ends it at once.

    A handler that nobody could stop, a thread or a coroutine that is deaf to its cancellation, would keep the
    event loop or the interpreter from ending; after its job was released it ends with the process.  So does
    what handlers have put into threads of the loop, after the grace period, and one that blocks the loop.
    """

    async def main() -> None:
        node = Node(
            settings,
            app.registry,
            cluster=app.cluster,
            start_server=start_server,
            migrates=migrates,
            telemetry=telemetry,
        )
        loop = asyncio.get_running_loop()
        threads = LoopThreads()
        loop.set_default_executor(threads)
        handlers = {signal.SIGTERM: node.request_stop, signal.SIGINT: node.request_stop}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup means: outlive the terminal
            handlers[signal.SIGHUP] = node.hang_up
        for number, handle in handlers.items():
            loop.add_signal_handler(number, handle)
        blocked = LastResort(handlers, node.upkeep, settings.grace_seconds, node.end_over_handler)
        blocked.open()
        try:
            await node.run(ready)
            await node.within_grace(threads.quiet())
        finally:
            blocked.close()
        if threads.busy or node.stuck:
            end_now(hurried=node.hurried)

    run_as_worker(main())
