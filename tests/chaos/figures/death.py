"""How long a job stands still when its worker is killed."""

import signal
import time
from typing import Any
from uuid import UUID

from tests.chaos.figures.table import Figure, Setting
from tests.chaos.fleet import WorkerProcess
from tests.chaos.postgres import until
from tests.chaos.records import read
from tests.chaos.site import Site
from windlass import NewJob
from windlass.model import uuid7

__all__ = ["death"]

AT_ONCE = 8


def death(setting: Setting) -> list[Figure]:
    """Killed → running again, over 200 kills; each within the lease and three seconds."""
    kills = setting.count(200, least=2)
    lease = 2.0
    waits: list[float] = []
    with Site(setting.directory, workers=0, lease_seconds=lease, major=setting.major) as site:
        for name in ("rescuer-1", "rescuer-2"):
            site.open_slot(name, concurrency=AT_ONCE).worker.ready()
        while len(waits) < kills:
            waits += _round(site, min(AT_ONCE, kills - len(waits)))
            setting.say(f"  {len(waits)} kills, longest wait {max(waits):.2f} s\n")
    late = sum(wait > lease + 3 for wait in waits)
    seen = f"{len(waits) - late} of {len(waits)}, longest {max(waits):.2f} s (lease {lease:g} s)"
    details: dict[str, Any] = {"waits": [round(wait, 3) for wait in waits]}
    return [Figure("worker killed → job running again", "≤ lease + 3 s in all", seen, late == 0, details)]


def _round(site: Site, count: int) -> list[float]:
    """Victims with a job each are killed at once; the rescuers, held back until then, take over."""
    victims = [site.open_slot(f"victim-{number}", concurrency=1) for number in range(count)]
    for slot in victims:
        slot.worker.ready()
    for slot in site.slots[:2]:
        site.client.set_gate(node=slot.worker.name, reason="until the victims have their jobs", actor="chaos")
    jobs = [NewJob(kind="nap_once", payload={"seconds": 3600}, id=uuid7()) for _ in range(count)]
    site.client.enqueue_jobs(jobs)
    wanted = {job.id for job in jobs if job.id is not None}
    until(lambda: _starts(site, wanted, 1).keys() == wanted, "every victim has its job")
    for slot in site.slots[:2]:
        site.client.clear_gate(node=slot.worker.name, actor="chaos")
    killed_at = time.monotonic()
    for slot in victims:
        _kill(slot.worker)
    until(lambda: _starts(site, wanted, 2).keys() == wanted, "every job runs again")
    for slot in victims:
        site.slots.remove(slot)
        slot.close()
    return [moment - killed_at for moment in _starts(site, wanted, 2).values()]


def _kill(worker: WorkerProcess) -> None:
    worker.send(signal.SIGKILL)


def _starts(site: Site, jobs: set[UUID], version: int) -> dict[UUID, float]:
    return {
        UUID(line["job"]): line["mono"]
        for line in read(site.directory / "ledger")
        if line["what"] == "start" and line["version"] == version and UUID(line["job"]) in jobs
    }
