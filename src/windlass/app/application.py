"""The object a program is built around: its kinds of job, and its way to the database."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, Self, Unpack
from uuid import UUID

from windlass.app.cluster import ClusterDecorator, LeaderDecorator
from windlass.app.function import JobDecorator
from windlass.app.redrive import RedriveOptions, refuse_broken_patch
from windlass.client import AsyncClient, SyncClient, TenantName, database_url
from windlass.client.detours import Place, detoured, detours_for, going_by
from windlass.client.redrive import new_redrive
from windlass.cluster.kinds import ClusterKinds
from windlass.cluster.services import TendingWorker
from windlass.errors import InvalidInput
from windlass.settings import Settings
from windlass.telemetry import Telemetry
from windlass.worker.registry import Registry
from windlass.worker.system import SystemWorker
from windlass.worker.worker import Worker

__all__ = ["Windlass"]


class Windlass:
    """An application: its kinds of job, and its way to the database.

    Without a URL the database is that of WINDLASS_DATABASE_URL, else an embedded server that runs
    already.  Nothing is connected before it is used.  `async with` (or `with`) closes what was opened.

    A call that names no tenant acts for the one given here; inside a handler, for that of the running job.
    """

    def __init__(
        self,
        database_url: str | None = None,
        *,
        settings: Settings | None = None,
        tenant: TenantName | None = None,
        actor: str | None = None,
    ) -> None:
        if database_url is not None and settings is not None:
            raise InvalidInput("give either a database URL or settings, and not both")
        if not isinstance(settings, Settings | None):
            raise InvalidInput("settings are made by Settings.from_env(…), or by Settings(…)")
        self.registry = Registry()
        self.job = JobDecorator(self, self.registry)
        self.cluster = ClusterKinds()
        self.cluster_job = ClusterDecorator(self, self.cluster)
        self.leader_job = LeaderDecorator(self, self.cluster)
        self._named = database_url if settings is None else settings.database_url
        self._settings = None if settings is None else detoured(settings, self._named)
        self._client_options: dict[str, Any] = {
            "tenant": tenant,
            "actor": actor,
            "decode_result": self._decode_result,
        }
        self._lock = threading.Lock()
        self._client: AsyncClient | None = None
        self._sync: SyncClient | None = None

    @property
    def tenant(self) -> TenantName | None:
        """The tenant for which it acts, if it was made for one."""
        tenant: TenantName | None = self._client_options["tenant"]
        return tenant

    @property
    def settings(self) -> Settings:
        """The settings given, else those of the environment when they are first needed."""
        if self._settings is None:
            self._settings = detoured(Settings.from_env(database_url=self._named), self._named)
        return self._settings

    @property
    def database_url(self) -> str:
        """Where the database is: for connections of one's own, on which jobs are enqueued too."""
        return database_url(self.settings)

    @property
    def client(self) -> AsyncClient:
        """Everything that can be done with jobs, to be awaited."""
        with self._lock:
            if self._client is None:
                self._client = AsyncClient(self.settings, **self._client_options)
            return self._client

    @property
    def sync(self) -> SyncClient:
        """The same, blocking."""
        with self._lock:
            if self._sync is None:
                self._sync = SyncClient(self.settings, **self._client_options)
            return self._sync

    def worker(
        self,
        *,
        queues: str | Sequence[str] | None = None,
        concurrency: int | None = None,
        lease_seconds: float | None = None,
        poll_seconds: float | None = None,
        grace_seconds: float | None = None,
        node_name: str | None = None,
        telemetry: Telemetry | None = None,
        tends: bool = True,
    ) -> Worker:
        """A worker for these kinds: `async with app.worker() as worker: await worker.run_until_stopped()`.

        What is left out is as in the settings.  It also tends the installation as `windlass worker` does: it
        recovers what dead workers held, and keeps days, retention, the audit and the sums of costs.  Without
        `tends` that is left to others.
        """
        settings, url = self.settings, self.database_url
        make: Callable[..., Worker] = SystemWorker
        if tends:
            make = partial(TendingWorker, retention_days=settings.retention_days)
        return make(
            url,
            self.registry,
            queues=settings.queues if queues is None else queues,
            concurrency=settings.concurrency if concurrency is None else concurrency,
            lease_seconds=settings.lease_seconds if lease_seconds is None else lease_seconds,
            poll_seconds=settings.poll_seconds if poll_seconds is None else poll_seconds,
            grace_seconds=settings.grace_seconds if grace_seconds is None else grace_seconds,
            node_name=settings.node_name if node_name is None else node_name,
            pooler=settings.pooler,
            listen_url=settings.listen_url,
            telemetry=telemetry,
            max_result_bytes=settings.max_result_bytes,
            max_error_bytes=settings.max_error_bytes,
            detours=detours_for(self._named, Place(url, settings.listen_url, settings.pooler)),
        )

    async def redrive(
        self, *, reason: str | None = None, tenant: TenantName | None = None, **what: Unpack[RedriveOptions]
    ) -> UUID:
        """Revive dead jobs in a job of its own, which survives its starter: its id.

        A patch that breaks every payload of the first few jobs is refused; later, each that it breaks is
        left dead, and counted.
        """
        redrive = new_redrive(**what)
        seen = await self.client.preview_redrive(redrive, whole=False, tenant=tenant)
        refuse_broken_patch(self.registry, redrive, seen.sample)
        expected = seen.matched if seen.cursor is None else None
        return await self.client.create_redrive(redrive, expected=expected, reason=reason, tenant=tenant)

    def redrive_sync(
        self, *, reason: str | None = None, tenant: TenantName | None = None, **what: Unpack[RedriveOptions]
    ) -> UUID:
        """The same, blocking."""
        redrive = new_redrive(**what)
        seen = self.sync.preview_redrive(redrive, whole=False, tenant=tenant)
        refuse_broken_patch(self.registry, redrive, seen.sample)
        expected = seen.matched if seen.cursor is None else None
        return self.sync.create_redrive(redrive, expected=expected, reason=reason, tenant=tenant)

    @contextmanager
    def at(self, database_url: str) -> Iterator[Self]:
        """Use another database within the block; other settings stay, but for those that lead elsewhere.

        So do the child processes of workers that are made within it.
        """
        before, place = (self._settings, self._client, self._sync), Place(database_url)
        elsewhere = self.settings.model_copy(update=place._asdict())
        self._settings, self._client, self._sync = elsewhere, None, None
        try:
            with going_by(self._named, place):
                yield self
        finally:
            self.close_sync()
            self._settings, self._client, self._sync = before

    def _decode_result(self, kind: str, result: Any) -> Any:
        if kind in self.registry:
            return self.registry.get(kind).decode_result(result)
        known = self.cluster.get(kind)
        return result if known is None else known.action.decode_result(result)

    async def close(self) -> None:
        """Close the connections of both clients; used again, they open new ones."""
        if self._client is not None:
            await self._client.close()
        self.close_sync()

    def close_sync(self) -> None:
        """Close the connections of the blocking client."""
        if self._sync is not None:
            self._sync.close()

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(
            "an application cannot be pickled, nor can what .options(...) gives: have the other process "
            "import it; its job functions are pickled by their names"
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sync()
