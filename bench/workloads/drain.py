"""W3, W3b and W5: how fast preloaded jobs with an empty handler are done, records included."""

import asyncio
from functools import partial
from typing import Any

from bench.trial import JobsLost, Outcome, Trial
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS", "drain"]

FIRST = 20_000


async def drain(trial: Trial, count: int, processes: int = 1, *, kept: int = 0, **options: Any) -> Outcome:
    """From the first handler's start until the database says that nothing is left."""
    workers = [await trial.driver() for _ in range(processes)]
    meter = await trial.meter(*workers)
    starting = (worker.call("work", timeout=120, capacity=count, **options) for worker in workers)
    await asyncio.gather(*starting)
    end = await trial.drained(workers, count)
    costs = await meter.stop(count)
    reports = await trial.stop(workers)
    await trial.balance(reports, count, kept=kept)
    first = min(report.first for report in reports if report.handled)
    repeated = sum(report.handled for report in reports) - count
    notes = [f"{repeated:,} handlers ran more than once"] if repeated else []
    return Outcome({"rate": count * 1e9 / (end - first)}, costs, notes=notes)


async def preloaded(trial: Trial, processes: int) -> Outcome:
    count = trial.load(100_000, least=1_000)
    await trial.preload(count)
    return await drain(trial, count, processes)


async def first_of_many(trial: Trial) -> Outcome:
    """The rate of the first 20,000 handlers of a million waiting jobs; the rest stays where it is."""
    count, some = trial.load(1_000_000, least=5_000), min(FIRST, trial.load(FIRST, least=1_000))
    await trial.preload(count)
    worker = await trial.driver()
    await worker.call("work", timeout=120, capacity=count)
    await trial.handled([worker], some)
    at, handled = next(beat for beat in worker.beats if beat[1] >= some)
    (report,) = await trial.stop([worker])
    if (there := await trial.entered()) < count - report.handled:
        raise JobsLost(f"{report.handled:,} of {count:,} jobs were handled, and only {there:,} are there")
    return Outcome({"rate": handled * 1e9 / (at - report.first)})


WORKLOADS = (
    Workload(
        "W3", "drain 100,000 jobs, one worker process", "rate", "jobs/s", partial(preloaded, processes=1)
    ),
    Workload(
        "W3b", "drain 100,000 jobs, two worker processes", "rate", "jobs/s", partial(preloaded, processes=2)
    ),
    Workload("W5", "the first 20,000 of 1,000,000 waiting jobs", "rate", "jobs/s", first_of_many),
)
