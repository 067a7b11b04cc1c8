"""How soon a worker that is told to stop has given its jobs back."""

import signal
import time
from uuid import UUID

from tests.chaos.figures.table import Figure, Setting
from tests.chaos.postgres import until
from tests.chaos.records import read
from tests.chaos.site import Site
from windlass import NewJob
from windlass.model import uuid7

__all__ = ["stop"]


def stop(setting: Setting) -> list[Figure]:
    """SIGTERM to a worker with no grace period and four long jobs: all four are in line again within 1 s."""
    count = setting.count(50, least=2)
    waits: list[float] = []
    with Site(setting.directory, workers=0, major=setting.major) as site:
        for _ in range(count):
            waits += _once(site)
    late = sum(wait > 1.0 for wait in waits)
    ordered = sorted(waits)
    median, longest = ordered[len(waits) // 2], ordered[-1]
    seen = f"{len(waits) - late} of {len(waits)}, median {median:.3f} s, longest {longest:.3f} s"
    return [Figure("SIGTERM → jobs handed back", "≤ 1 s", seen, late == 0, {"waits": ordered})]


def _once(site: Site) -> list[float]:
    slot = site.open_slot("stopper", concurrency=4, grace_seconds=0)
    slot.worker.ready()
    jobs = [NewJob(kind="nap", payload={"seconds": 600}, id=uuid7()) for _ in range(4)]
    wanted = {job.id for job in jobs if job.id is not None}
    site.client.enqueue_jobs(jobs)
    until(lambda: wanted <= _started(site), "all four run")
    told_at = time.time()
    slot.worker.send(signal.SIGTERM)
    assert slot.worker.wait() == 0
    site.slots.remove(slot)
    slot.close()
    rows = site.primary.ask(
        "select job_id, extract(epoch from at)::float8 from evidence.ended"
        " where outcome = 'released' and job_id = any (%s)",
        list(wanted),
    )
    assert {row[0] for row in rows} == wanted, "each of them was given back"
    for job in wanted:
        site.client.cancel_job(job)
    return [at - told_at for _, at in rows]


def _started(site: Site) -> set[UUID]:
    return {UUID(line["job"]) for line in read(site.directory / "ledger") if line["what"] == "start"}
