"""Where it all happens: the servers, the wire, the workers, the tenants, and the files that remember."""

import random
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from uuid import UUID

from tests.chaos import evidence
from tests.chaos.fleet import WorkerProcess
from tests.chaos.postgres import Postgres, find_provider, until
from tests.chaos.proxy import Proxy
from tests.chaos.records import Recorder, append
from windlass.client import SyncClient
from windlass.settings import Settings

__all__ = ["Site", "Slot", "Standby"]

Standby = Literal["none", "sync", "async"]


class Slot:
    """A place for one worker; whoever dies in it is replaced, as a supervisor would do."""

    def __init__(self, site: "Site", name: str, url: str, **settings: Any) -> None:
        self._site = site
        self.name = name
        self._url = url
        self._settings = settings
        self._generation = 0
        self.worker = self._launch()

    def _launch(self) -> WorkerProcess:
        self._generation += 1
        name = f"{self.name}.{self._generation}"
        worker = WorkerProcess(self._url, self._site.directory, node_name=name, **self._settings)
        self._site.note("worker", name=name, slot=self.name, pid=worker.pid)
        return worker

    def replenish(self) -> None:
        if not self.worker.running:
            self._site.note("ended", name=self.worker.name, slot=self.name, pid=self.worker.pid)
            self.worker.end()
            self.worker = self._launch()

    def retire(self) -> None:
        """Ask it to stop, as one should; that takes as long as its handlers do."""
        if self.worker.running:
            self.worker.send(signal.SIGCONT)
            self.worker.send(signal.SIGTERM)

    def close(self) -> None:
        self.worker.end()
        self._site.note("ended", name=self.worker.name, slot=self.name, pid=self.worker.pid)


class Site:
    """One world for one run; use as `with`."""

    def __init__(
        self,
        directory: Path,
        *,
        seed: int = 0,
        lease_seconds: float = 2.0,
        workers: int = 3,
        concurrency: int = 8,
        standby: Standby = "none",
        major: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.seed = seed
        self.random = random.Random(seed)
        self.lease_seconds = lease_seconds
        self.concurrency = concurrency
        self._wanted = workers
        self._standby_mode = standby
        self._provider = find_provider(major)
        self._settings = settings
        self.slots: list[Slot] = []
        self._leaving: list[Slot] = []
        self.tenants: list[UUID] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def _build(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.short = Path(tempfile.mkdtemp(prefix="wlchaos-"))  # sockets want short names
        self.short.chmod(0o711)  # the pooler runs as the server's account
        self._open.callback(shutil.rmtree, self.short, ignore_errors=True)
        self.primary = self._make_server("one")
        self.primary.create()
        evidence.install(self.primary)
        self.version = str(self.primary.ask("show server_version")[0][0])
        self.standby: Postgres | None = None
        if self._standby_mode != "none":
            self.standby = self._make_server("two")
            self.attach_standby()
        self.proxy = Proxy(
            lambda: self.primary.socket_dir / ".s.PGSQL.5432", directory=self.short, seed=self.seed
        )
        self._open.callback(self.proxy.close)
        self._open.callback(self.end_workers)
        self.recorder = Recorder(self.directory / "calls", "producer")
        self.client = self.make_client()
        self._open.callback(self.client.close)
        for number in range(1, 6):
            tenant = self.client.create_tenant(f"tenant-{number}", name=f"Tenant {number}")
            self.tenants.append(tenant)

    def _make_server(self, name: str) -> Postgres:
        server = Postgres(name, self._provider, self._settings)
        self._open.callback(self._remove_server, server)
        return server

    def _remove_server(self, server: Postgres) -> None:
        server.stop(signal.SIGINT)
        if server.log.exists():
            shutil.copyfile(server.log, self.directory / f"server-{server.name}.log")
        server.remove()

    # The way to the database --------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Every server that may be the primary; the driver looks for the one that takes writes."""
        servers = [self.primary, *([self.standby] if self.standby else [])]
        hosts = ",".join(sorted(str(server.socket_dir) for server in servers))
        ports = ",".join("5432" for _ in servers)
        return (
            f"postgresql://windlass_app@/windlass?host={hosts}&port={ports}&target_session_attrs=read-write"
        )

    def make_client(self, patience: float = 20.0) -> SyncClient:
        return SyncClient(Settings(database_url=self.url), patience=patience, pool_size=8)

    def attach_standby(self) -> None:
        """Let the second server follow the first; with `sync`, every commit waits for it from now on."""
        assert self.standby is not None
        self.primary.set("synchronous_standby_names", "")
        self.standby.stop()
        self.standby.clone(self.primary)
        if self._standby_mode == "sync":
            self.primary.set("synchronous_standby_names", "*")
            until(self._is_synchronous, "the standby has caught up")
        else:
            until(lambda: self.primary.ask("select 1 from pg_stat_replication"), "the standby follows")

    def _is_synchronous(self) -> bool:
        text = (
            "select count(*) from pg_stat_replication where sync_state = 'sync' and flush_lsn >= %s::pg_lsn"
        )
        reached = self.primary.ask("select pg_current_wal_lsn()::text")[0][0]
        return bool(self.primary.ask(text, reached)[0][0])

    def fail_over(self) -> None:
        """The first server is gone for good; the second takes its place."""
        assert self.standby is not None
        self.primary.stop(signal.SIGKILL)
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    # Workers ------------------------------------------------------------------------------------------------

    def open_slot(self, name: str, url: str | None = None, **settings: Any) -> Slot:
        told = {"lease_seconds": self.lease_seconds, "concurrency": self.concurrency, "grace_seconds": 5}
        slot = Slot(self, name, self.url if url is None else url, **{**told, **settings})
        self.slots.append(slot)
        return slot

    def close_slot(self, slot: Slot) -> None:
        """Its worker is asked to leave; nobody waits for that."""
        self.slots.remove(slot)
        self._leaving.append(slot)
        slot.retire()

    def start_workers(self) -> None:
        """One of them behind the wire, the others straight at the server."""
        for number in range(1, self._wanted + 1):
            behind = number == 1 and self._wanted > 1
            self.open_slot(f"w{number}", self.proxy.url() if behind else None)
        for slot in self.slots:
            slot.worker.ready()

    def replenish(self) -> None:
        """Replace whoever has died, and see off whoever has left."""
        for slot in self.slots:
            slot.replenish()
        for slot in [slot for slot in self._leaving if not slot.worker.running]:
            self._leaving.remove(slot)
            slot.close()

    def end_workers(self) -> None:
        for slot in [*self.slots, *self._leaving]:
            slot.close()
        self.slots.clear()
        self._leaving.clear()

    def stop_workers(self) -> None:
        while self.slots:
            self.close_slot(self.slots[-1])
        for slot in self._leaving:
            slot.worker.wait()
        self.end_workers()

    def note(self, what: str, **facts: Any) -> None:
        append(self.directory / "events", what=what, **facts)
