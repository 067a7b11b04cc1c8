"""Handlers that leave the processor to nobody: no lease is lost, and how late the event loop runs."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.figures.burn_work import GAP
from tests.chaos.figures.table import Figure, Setting
from tests.chaos.fleet import ROOT, SOURCE
from tests.chaos.postgres import until
from tests.chaos.site import Site
from windlass import NewJob
from windlass.model import uuid7

__all__ = ["burn", "lags"]

LEASE = 2.0
KINDS = ("burn", "burn_in_c")
"""Pure Python on the event loop; and in C with the interpreter's lock, in a child process."""
MOST_LAG = 0.050
PHASES: dict[str, dict[str, int]] = {
    "nothing to do": {},
    "in child processes, Python and C": {"python_in_process": 1, "c_in_process": 1},
    "Python in 1 thread": {"python_in_thread": 1},
    "Python in 2 threads": {"python_in_thread": 2},
    "Python in 8 threads": {"python_in_thread": 8},
    "C in 1 thread": {"c_in_thread": 1},
}
APART = "in child processes, Python and C"


def burn(setting: Setting) -> list[Figure]:
    """100 attempts of three leases each lose no lease; what burns in a process of its own delays no loop."""
    count = setting.count(50, least=1)
    with Site(setting.directory, workers=2, concurrency=2, lease_seconds=LEASE, major=setting.major) as site:
        site.start_workers()
        jobs = [_job(kind, 3 * LEASE) for _ in range(count) for kind in KINDS]
        site.client.enqueue_jobs(jobs)
        patience = 60 + len(jobs) * 3 * LEASE
        until(lambda: _ended(site) == len(jobs), "every job has ended", patience)
        outcomes = Counter(row[0] for row in site.primary.ask("select outcome from evidence.ended"))
        site.stop_workers()
        late = lags(site, max(3.0, 12.0 * setting.scale))
    lost = sum(outcomes.values()) - outcomes["succeeded"]
    seen = f"{lost} in {len(jobs)} attempts of {3 * LEASE:g} s (lease {LEASE:g} s)"
    met = lost == 0 and outcomes["succeeded"] == len(jobs)
    told = "; ".join(f"{phase} {1000 * p99:.1f} ms" for phase, p99 in late.items())
    return [
        Figure("leases lost by handlers that burn", "0", seen, met, dict(outcomes)),
        Figure("event loop late, p99", "≤ 50 ms in child processes", told, late[APART] <= MOST_LAG, {**late}),
    ]


def _job(kind: str, seconds: float) -> NewJob:
    return NewJob(kind=kind, payload={"seconds": seconds}, id=uuid7())


def _ended(site: Site) -> int:
    return int(site.primary.ask("select count(*) from evidence.ended where ends is not null")[0][0])


def lags(site: Site, seconds: float) -> dict[str, float]:
    """How late the loop of a worker runs while its handlers burn for so long, each way by itself."""
    path = site.directory / "lags"
    with _worker(site, path):
        until(lambda: path.exists() and path.stat().st_size > 0, "the worker has begun")
        return {phase: _p99(path, *_watch(site, kinds, seconds)) for phase, kinds in PHASES.items()}


def _watch(site: Site, kinds: dict[str, int], seconds: float) -> tuple[float, float]:
    """Let these burn; between which moments all of them did."""
    jobs = [_job(kind, seconds) for kind, count in kinds.items() for _ in range(count)]
    there = _ended(site) + len(jobs)
    if jobs:
        site.client.enqueue_jobs(jobs)
    until(lambda: _running(site) == len(jobs), "every handler burns")
    begun = time.monotonic()
    time.sleep(0.8 * seconds)  # this is what is measured; whoever asked the server meanwhile would disturb it
    end = time.monotonic()
    until(lambda: _ended(site) == there, "all have ended", 60 + 10 * seconds)
    return begun, end


def _running(site: Site) -> int:
    return int(site.primary.ask("select coalesce(sum(open), 0) from windlass_data.lease")[0][0])


def _p99(path: Path, begun: float, end: float) -> float:
    """Of all moments at which the loop might have been asked, also those at which it could not be."""
    late: list[float] = []
    for line in path.read_text().splitlines():
        due, lag = (float(text) for text in line.split())
        while begun <= due <= end and (lag > 0 or not late):
            late.append(lag)
            due, lag = due + GAP, lag - GAP
    return sorted(late)[int(len(late) * 0.99)]


@contextmanager
def _worker(site: Site, path: Path) -> Iterator[None]:
    settings = {"DATABASE_URL": site.url, "LEASE_SECONDS": "10", "CONCURRENCY": "8", "LOG_FORMAT": "json"}
    variables = {f"WINDLASS_{name}": value for name, value in settings.items()}
    variables["PYTHONPATH"] = os.pathsep.join((str(SOURCE), str(ROOT)))
    with (site.directory / "log").open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.figures.burn_work", str(path)],
            cwd=ROOT,
            env={**os.environ, **variables},
            stderr=errors,
        )
    try:
        yield
    finally:
        process.kill()
        process.wait()
