"""Handlers that wait for something, workers that have nothing to do, and a worker that goes on and on."""

import asyncio
import sys
import time

from bench.probe import resident_bytes
from bench.process import ROOT, python_path
from bench.stats import quantile
from bench.trial import JobsLost, Outcome, Trial
from bench.workloads.drain import drain
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS"]

IO_SECONDS, CONCURRENCY = 0.001, 200
IDLE_SECONDS = 20.0
SAMPLE_SECONDS = 0.1


async def waiting_handlers(trial: Trial) -> Outcome:
    """1 ms of waiting in each handler, 200 at once."""
    count = trial.size(100_000, least=2_000)
    kind = {"kind": "bench.io"} if trial.system.migrated else {}
    await trial.preload(count, **kind)
    outcome = await drain(trial, count, concurrency=CONCURRENCY, io_seconds=IO_SECONDS)
    bound = CONCURRENCY / IO_SECONDS
    return Outcome({**outcome.figures, "of_bound": outcome.figures["rate"] / bound}, outcome.costs)


async def idle_workers(trial: Trial) -> Outcome:
    """`windlass worker` processes with nothing to do: transactions per second of each."""
    count = trial.size(100, least=3)
    command = (sys.executable, "-m", "windlass", "worker", "bench.workloads.idle_app:app")
    environment = {"WINDLASS_DATABASE_URL": trial.database.app_url, "PYTHONPATH": python_path()}
    processes = []
    try:
        for number in range(count):
            trial.say(f"starting {number + 1} of {count} workers")
            processes.append(
                await asyncio.create_subprocess_exec(
                    *command,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    cwd=ROOT,
                    env=environment,
                    start_new_session=True,
                )
            )
        await _active_nodes(trial, count)
        rate = await _transactions_per_second(trial, IDLE_SECONDS if trial.scale >= 0.1 else 5.0)
        return Outcome({"per_worker": rate / count, "workers": float(count)})
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*(process.wait() for process in processes))


async def _active_nodes(trial: Trial, count: int) -> None:
    deadline = time.monotonic() + 300
    while (active := await trial.connection.fetchval("select count(*) from windlass.list_nodes()")) < count:
        if time.monotonic() > deadline:
            raise JobsLost(f"{active} of {count} workers started within five minutes")
        trial.say(f"{active} of {count} workers are ready")
        await asyncio.sleep(0.2)
    await asyncio.sleep(5.0)  # what a start costs is not what idling costs


async def _transactions_per_second(trial: Trial, seconds: float) -> float:
    """A session tells its counters at most once a second: the window must be long against that."""
    query = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
    began, before = time.monotonic(), await trial.connection.fetchval(query)
    await asyncio.sleep(seconds)
    after = await trial.connection.fetchval(query)
    return float(after - before) / (time.monotonic() - began)


async def memory(trial: Trial) -> Outcome:
    """What a worker process holds while it does 1,000,000 jobs: a fifth of the way, and at the end."""
    count = trial.size(1_000_000, least=10_000)
    await trial.preload(count)
    worker = await trial.driver()
    samples: list[tuple[int, int]] = []

    async def sample() -> None:
        while True:
            samples.append((worker.handled, resident_bytes(worker.pid) or 0))
            await asyncio.sleep(SAMPLE_SECONDS)

    sampling = asyncio.create_task(sample())
    try:
        await worker.call("work", timeout=120, capacity=count)
        await trial.drained([worker], count)
    finally:
        sampling.cancel()
    reports = await trial.stop([worker])
    await trial.balance(reports, count)
    early = [size for done, size in samples if count * 0.1 <= done <= count * 0.3]
    late = [size for done, size in samples if done >= count * 0.8]
    if not early or not late:
        raise JobsLost("the worker was done before its memory could be looked at: take a larger --scale")
    then, now = quantile(early, 0.5) / 2**20, quantile(late, 0.5) / 2**20
    curve = [(float(done), size / 2**20) for done, size in samples]
    return Outcome({"growth": now / then, "early_mib": then, "late_mib": now}, curve=curve)


WORKLOADS = (
    Workload(
        "io",
        "handlers with 1 ms of waiting, concurrency 200",
        "rate",
        "jobs/s",
        waiting_handlers,
        frozenset({"io"}),
        core=False,
        also=("of_bound",),
    ),
    Workload(
        "idle",
        "100 idle worker processes: transactions per second of each",
        "per_worker",
        "/s",
        idle_workers,
        frozenset({"idle"}),
        lower=True,
        core=False,
        also=("workers",),
    ),
    Workload(
        "memory",
        "worker memory over 1,000,000 jobs, late ÷ early",
        "growth",
        "×",
        memory,
        frozenset({"memory"}),
        lower=True,
        core=False,
        also=("early_mib", "late_mib"),
    ),
)
