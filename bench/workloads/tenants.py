"""Many tenants with work: what their number costs, and whether a big one starves the small ones."""

import asyncio
import time
from functools import partial
from typing import Any

from bench.process import DriverProcess
from bench.stats import quantile
from bench.trial import JobsLost, Outcome, Trial, WorkerReport
from bench.workloads.drain import drain
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS"]

BIG = "default"
SMALL = [f"small-{number}" for number in range(9)]
EACH = 20
ROUNDS = 10
ROUND_SECONDS = 0.5


async def many_tenants(trial: Trial, tenants: int, limited: bool = False) -> Outcome:
    """Drain 100,000 jobs that belong in equal parts to so many tenants.

    With limits, each tenant has two that hold nothing back: it is measured what keeping to them costs.
    """
    count = trial.size(100_000, least=1_000)
    slugs = [f"tenant-{number}" for number in range(min(tenants, count))]
    trial.say(f"creating {len(slugs):,} tenants")
    producer = await trial.producer(4)
    await producer.call("other", name="create_tenants", slugs=slugs)
    if limited:
        await producer.call("other", name="limit_tenants", slugs=slugs)
    trial.say(f"enqueueing {count:,} jobs of {len(slugs):,} tenants")
    await producer.call("bulk", first=0, count=count, batch=count, slugs=slugs)
    await trial.settle()
    return await drain(trial, count)


async def fairness(trial: Trial) -> Outcome:
    """Nine tenants with 20 jobs at a time, alone and beside one with a million.

    The wait is counted from the return of the enqueue to the handler's start.
    """
    big = trial.size(1_000_000, least=150_000)
    producer = await trial.producer()
    await producer.call("other", name="create_tenants", slugs=SMALL)
    alone = await _small_alone(trial, producer)
    await producer.call("bulk", first=0, count=big)
    await trial.settle()
    done = await trial.done()
    solo, beside, waits, jobs = await _beside(trial, producer, big, done)
    figures = {
        "wait_ratio": quantile(waits, 0.99) / max(quantile(alone, 0.99), 1e-6),
        "p99_alone": quantile(alone, 0.99),
        "p99_beside": quantile(waits, 0.99),
        "big_rate_alone": solo,
        "big_rate_beside": beside,
        "big_keeps": beside / solo if solo else 0.0,
        "jobs": float(jobs),
    }
    return Outcome(figures)


async def _small_alone(trial: Trial, producer: DriverProcess) -> list[float]:
    """The nine on an idle worker, in as many rounds as beside the big one."""
    worker = await trial.driver()
    per_round = EACH * len(SMALL)
    await worker.call("work", timeout=120, capacity=per_round * ROUNDS, starts=True)
    returned = await _rounds(producer, 0)
    await trial.drained([worker], len(returned))
    (report,) = await trial.stop([worker])
    await trial.balance([report], len(returned))
    return _waits(report, returned)


async def _beside(
    trial: Trial, producer: DriverProcess, big: int, done: int
) -> tuple[float, float, list[float], int]:
    worker = await trial.driver()
    await worker.call("work", timeout=120, capacity=big + 10_000, starts=True)
    await trial.handled([worker], min(big // 20, 20_000))
    start, before = time.monotonic(), worker.handled
    await asyncio.sleep(min(ROUNDS * ROUND_SECONDS, 2.0 * max(trial.scale, 0.25)))
    solo = (worker.handled - before) / (time.monotonic() - start)
    start, before = time.monotonic(), worker.handled
    returned = await _rounds(producer, big)
    passed, handled = time.monotonic() - start, worker.handled - before
    if worker.handled >= big:
        raise JobsLost(
            "the big tenant ran out of jobs before the small ones were done: take a larger --scale"
        )
    total = big + len(returned)
    await trial.drained([worker], total)
    (report,) = await trial.stop([worker])
    await trial.balance([report], total, kept=done)
    return solo, max(0.0, handled - len(returned)) / passed, _waits(report, returned), total


async def _rounds(producer: DriverProcess, first: int) -> list[tuple[int, int]]:
    returned: list[tuple[int, int]] = []
    for number in range(ROUNDS):
        began = time.monotonic()
        start = first + number * EACH * len(SMALL)
        returned += await producer.call("other", name="enqueue_timed", slugs=SMALL, first=start, each=EACH)
        await asyncio.sleep(max(0.0, ROUND_SECONDS - (time.monotonic() - began)))
    return returned


def _waits(report: WorkerReport, returned: list[tuple[int, int]]) -> list[float]:
    return [(report.starts[number] - at) / 1e6 for number, at in returned]


def _tenants(number: int) -> Workload:
    needs: Any = frozenset({"tenants"})
    title = f"drain 100,000 jobs of {number:,} tenant{'s' if number > 1 else ''}"
    run = partial(many_tenants, tenants=number)
    return Workload(f"tenants-{number}", title, "rate", "jobs/s", run, needs, core=False)


WORKLOADS = (
    _tenants(1),
    _tenants(100),
    Workload(
        "limits-100",
        "the same of 100 tenants, each with a limit on its concurrency and its rate",
        "rate",
        "jobs/s",
        partial(many_tenants, tenants=100, limited=True),
        frozenset({"tenants"}),
        core=False,
    ),
    _tenants(1_000),
    _tenants(10_000),
    Workload(
        "fairness",
        "nine small tenants beside one with 1,000,000 jobs: their p99 wait against alone",
        "wait_ratio",
        "×",
        fairness,
        frozenset({"tenants"}),
        lower=True,
        core=False,
        also=("p99_alone", "p99_beside", "big_keeps"),
    ),
)
