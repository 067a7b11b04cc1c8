"""Handlers that leave the processor to nobody for three leases."""

from collections import Counter

from tests.chaos.figures.table import Figure, Setting
from tests.chaos.postgres import until
from tests.chaos.site import Site
from windlass import NewJob
from windlass.model import uuid7

__all__ = ["burn"]

LEASE = 2.0
KINDS = ("burn", "burn_in_c")
"""Pure Python on the event loop; and in C with the interpreter's lock, in a child process."""


def burn(setting: Setting) -> list[Figure]:
    """100 attempts of three leases each: no lease is lost, and nobody runs a job a second time."""
    count = setting.count(50, least=1)
    with Site(setting.directory, workers=2, concurrency=2, lease_seconds=LEASE, major=setting.major) as site:
        site.start_workers()
        jobs = [
            NewJob(kind=kind, payload={"seconds": 3 * LEASE}, id=uuid7())
            for _ in range(count)
            for kind in KINDS
        ]
        site.client.enqueue_jobs(jobs)
        patience = 60 + len(jobs) * 3 * LEASE
        until(lambda: _ended(site) == len(jobs), "every job has ended", patience)
        outcomes = Counter(row[0] for row in site.primary.ask("select outcome from evidence.ended"))
    lost = sum(outcomes.values()) - outcomes["succeeded"]
    seen = f"{lost} in {len(jobs)} attempts of {3 * LEASE:g} s (lease {LEASE:g} s)"
    met = lost == 0 and outcomes["succeeded"] == len(jobs)
    return [Figure("leases lost by handlers that burn", "0", seen, met, dict(outcomes))]


def _ended(site: Site) -> int:
    return int(site.primary.ask("select count(*) from evidence.ended where ends is not null")[0][0])
