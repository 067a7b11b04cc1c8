"""Jobs that harm the worker that runs them."""

import contextlib
import os
from pathlib import Path
from typing import Any, ClassVar

from tests.chaos.faults.base import Fault
from tests.chaos.site import Site
from windlass import NewJob, Unavailable
from windlass.client import SyncClient
from windlass.model import uuid7

__all__ = ["Exit", "OutOfMemory", "Seize"]

ATTEMPTS = 25


class Harmful(Fault):
    """Enqueues one job of a harmful kind; who runs it is chance."""

    kind: ClassVar[str]
    leases = 0.5

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._client: SyncClient | None = None

    def prepare(self) -> None:
        self._client = self.site.make_client(patience=1.0)  # whoever waits for long delays the other faults

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def payload(self) -> dict[str, Any]:
        return {}

    def start(self) -> None:
        job, tenant = uuid7(), self.site.random.choice(self.site.tenants)
        told = {"job": job, "tenant": tenant, "kind": self.kind, "max_attempts": ATTEMPTS}
        with contextlib.suppress(Unavailable), self.site.recorder.call("enqueue", [told]):
            new = NewJob(kind=self.kind, payload=self.payload(), id=job, max_attempts=ATTEMPTS, priority=100)
            (self._client or self.site.client).enqueue(new, tenant=tenant)

    def heal(self) -> None:
        self.site.replenish()


class Exit(Harmful):
    name = "exit"
    kind = "poison"

    def payload(self) -> dict[str, Any]:
        return {"attempts": 1}

    def describe(self) -> str:
        return "a handler calls _exit"


class OutOfMemory(Harmful):
    """The kernel kills a worker whose handler eats all memory that its cgroup has."""

    name = "oom"
    kind = "devour"
    _cgroup: Path | None = None

    def prepare(self) -> None:
        super().prepare()
        for root, limit in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ):
            group = Path(root) / f"wlchaos-{os.getpid()}"
            with contextlib.suppress(OSError):
                group.mkdir(exist_ok=True)
                (group / limit).write_text(str(256 << 20))
                self._cgroup = group
                return

    def payload(self) -> dict[str, Any]:
        return {} if self._cgroup is None else {"cgroup": str(self._cgroup)}

    def describe(self) -> str:
        how = "its own limit" if self._cgroup is None else "the kernel, in a memory cgroup"
        return f"a handler takes 256 MB and is killed by {how}"

    def close(self) -> None:
        super().close()
        if self._cgroup is not None:
            with contextlib.suppress(OSError):
                self._cgroup.rmdir()


class Seize(Harmful):
    """A handler blocks in C with the interpreter's lock for ten leases: nothing in its process moves."""

    name = "seize"
    kind = "seize"

    def payload(self) -> dict[str, Any]:
        return {"seconds": 10 * self.site.lease_seconds}

    def describe(self) -> str:
        return f"a handler holds the interpreter for {10 * self.site.lease_seconds:g} s"
