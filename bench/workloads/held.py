"""W6: producer and worker for 90 seconds while another session holds a snapshot, and the control without it.

A held snapshot keeps every dead row and index entry where it is.  A queue whose claims walk over them slows
down with each job that it has done.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bench.probe import Costs
from bench.process import DriverProcess
from bench.trial import Outcome, Trial
from bench.workloads.feed import LEAST, Feed
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS"]

SECONDS = 90.0
TENANTS, PER_TENANT = 100, 100
"""Jobs of one call where there are tenants: fewer would measure how fast calls are made."""
LATE_JOBS, LATE_HOLD = 50, 2.0

Counts = list[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is different from the plain workload."""

    snapshot: bool = True
    tenants: int = 0
    flaky: bool = False
    late: bool = False


async def sustained(trial: Trial, variant: Variant) -> Outcome:
    """First and last window as rates: at scale 1 seconds 2 to 12, and the last ten."""
    seconds = max(9.0, SECONDS * trial.scale)
    producer, worker = await trial.producer(4), await trial.driver()
    feed = Feed(producer, [worker], **await _options(producer, variant))
    await feed.fill(max(LEAST, variant.tenants * PER_TENANT))
    await trial.settle()
    async with _snapshot(trial) if variant.snapshot else nullcontext():
        meter = await trial.meter(worker)
        await worker.call("work", timeout=120, capacity=feed.given)
        await trial.handled([worker], 1)
        late = _enqueue_late(await trial.producer(), feed, seconds) if variant.late else asyncio.sleep(0)
        counting = _count(trial, worker, seconds)
        _, counts, _ = await asyncio.gather(feed.run(seconds), counting, late)
        costs = await meter.stop(max(1, counts[-1][1]))
        dead = await trial.connection.fetchval("select sum(n_dead_tup)::bigint from pg_stat_user_tables")
    failing = sum(number % 10 == 0 for number in range(feed.given)) if variant.flaky else 0
    await trial.drained([worker], feed.given + failing)
    await trial.balance(await trial.stop([worker]), feed.given)
    return _outcome(counts, seconds, float(dead or 0), costs)


async def _options(producer: DriverProcess, variant: Variant) -> dict[str, Any]:
    options: dict[str, Any] = {"kind": "bench.flaky"} if variant.flaky else {}
    if variant.tenants:
        options["chunk"] = variant.tenants * PER_TENANT
        options["slugs"] = [f"tenant-{number}" for number in range(variant.tenants)]
        await producer.call("other", name="create_tenants", slugs=options["slugs"])
    return options


@asynccontextmanager
async def _snapshot(trial: Trial) -> AsyncIterator[None]:
    """What a long report, a backup or a forgotten session does."""
    connection = await trial.connect()
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        await connection.fetchval("select count(*) from pg_class")
        yield


async def _enqueue_late(producer: DriverProcess, feed: Feed, seconds: float) -> None:
    """Transactions that enqueue, stay open while the line moves on, and commit."""
    end = time.monotonic() + seconds - LATE_HOLD
    while time.monotonic() < end:
        first = feed.take(LATE_JOBS)
        await producer.call("other", name="enqueue_late", first=first, count=LATE_JOBS, hold=LATE_HOLD)


async def _count(trial: Trial, worker: DriverProcess, seconds: float) -> Counts:
    """Seconds since the start, and jobs done by then.

    Handlers begun, as the worker tells; where its records trail them, what the database has finished.
    """
    began = time.monotonic()
    counts: Counts = []
    before = worker.handled
    while (passed := time.monotonic() - began) < seconds:
        if trial.system.acks_trail:
            counts.append((time.monotonic() - began, await trial.done()))
        trial.say(f"{passed:.0f} of {seconds:.0f} s, {worker.handled:,} jobs")
        await asyncio.sleep(0.5)
    if trial.system.acks_trail:
        return counts
    start = began * 1e9
    return [((at - start) / 1e9, handled - before) for at, handled in worker.beats if at >= start]


def _outcome(counts: Counts, seconds: float, dead: float, costs: Costs) -> Outcome:
    window = seconds / 9
    first = _rate(counts, window / 5, window / 5 + window)
    last = _rate(counts, seconds - window, seconds)
    step = max(1.0, seconds / 90)
    curve = [(at, _rate(counts, at, at + step)) for at in _steps(seconds, step)]
    figures = {
        "first": first,
        "last": last,
        "ratio": last / first if first else 0.0,
        "mean": _rate(counts, 0.0, seconds),
        "dead_rows": dead,
    }
    return Outcome(figures, costs, curve)


def _steps(seconds: float, step: float) -> list[float]:
    return [number * step for number in range(int(seconds / step))]


def _rate(counts: Sequence[tuple[float, int]], start: float, end: float) -> float:
    """Jobs per second between two moments, by the counts nearest to them."""
    a = min(counts, key=lambda count: abs(count[0] - start))
    b = min(counts, key=lambda count: abs(count[0] - end))
    return (b[1] - a[1]) / (b[0] - a[0]) if b[0] > a[0] else 0.0


def _workload(
    name: str, title: str, variant: Variant, needs: str = "snapshot", *, core: bool = False
) -> Workload:
    run = partial(sustained, variant=variant)
    also = ("first", "last", "mean", "dead_rows")
    return Workload(name, title, "ratio", "×", run, frozenset({needs}), core=core, also=also)


_VARIANTS = (
    ("tenants", "with the jobs of 100 tenants", Variant(tenants=TENANTS), "tenants"),
    ("retries", "where every tenth job fails once", Variant(flaky=True), "retry"),
    ("late", "with transactions that commit late", Variant(late=True), "late"),
)
WORKLOADS = (
    _workload("W6", "90 s under a held snapshot, last ÷ first ten seconds", Variant(), core=True),
    _workload("W6c", "the same without the snapshot", Variant(snapshot=False), core=True),
    *(_workload(f"W6-{name}", f"W6 {what}", variant, needs) for name, what, variant, needs in _VARIANTS),
    *(
        _workload(f"W6c-{name}", f"W6c {what}", replace(variant, snapshot=False), needs)
        for name, what, variant, needs in _VARIANTS
    ),
)
