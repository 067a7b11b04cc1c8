"""W1, W2 and single enqueues from many clients: how fast jobs get in, durable at return."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from bench.drivers.protocol import WARM_UP
from bench.probe import Costs
from bench.trial import JobsLost, Outcome, Trial
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS", "in_bulk", "one_by_one"]

CLIENTS = 32


async def one_by_one(trial: Trial) -> Outcome:
    """One producer; each enqueue is awaited before the next."""
    before = await trial.entered()
    count = trial.size(5_000)
    producer = await trial.producer()
    await producer.call("single", first=0, count=WARM_UP)
    meter = await trial.meter(producer)
    answer = await producer.call("single", first=WARM_UP, count=count)
    return await _entered(trial, count, before + WARM_UP + count, answer["ns"], await meter.stop(count))


async def in_bulk(trial: Trial) -> Outcome:
    """One producer; ten thousand jobs a call."""
    before = await trial.entered()
    count = trial.load(200_000, least=2_000)
    producer = await trial.producer()
    first = min(1_000, count)
    await producer.call("bulk", first=0, count=first)
    meter = await trial.meter(producer)
    answer = await producer.call("bulk", first=first, count=count)
    return await _entered(trial, count, before + first + count, answer["ns"], await meter.stop(count))


async def from_many_clients(trial: Trial, *, apart: bool) -> Outcome:
    """32 at once, each with one enqueue under way at a time.

    As callers of one application they may share what it shares: Windlass puts their enqueues into common
    statements on one connection.  Apart they have a client and a connection each.  The floor and the peers
    share nothing either way: a pool gives each caller a connection of its own.
    """
    count = trial.size(20_000)
    producer = await trial.producer(CLIENTS, apart=apart)
    warm = WARM_UP * CLIENTS
    await producer.call("spread", first=0, count=warm, clients=CLIENTS)
    meter = await trial.meter(producer)
    answer = await producer.call("spread", first=warm, count=count, clients=CLIENTS)
    return await _entered(trial, count, warm + count, answer["ns"], await meter.stop(count))


async def beside_a_worker(trial: Trial, *, quiet: bool) -> Outcome:
    """32 clients apart, and a worker that takes what they enqueue: told of it, or left to find it.

    Whoever sends a notice commits behind one lock of the whole server.  So this is what waking costs those
    who enqueue.
    """
    count = trial.size(20_000)
    worker = await trial.driver()
    producer = await trial.producer(CLIENTS, apart=True, quiet=quiet)
    warm = WARM_UP * CLIENTS
    await worker.call("work", timeout=120, capacity=warm + count)
    await producer.call("spread", first=0, count=warm, clients=CLIENTS)
    await trial.handled([worker], warm)
    meter = await trial.meter(producer)
    answer = await producer.call("spread", first=warm, count=count, clients=CLIENTS)
    costs = await meter.stop(count)
    await trial.drained([worker], warm + count)
    await trial.balance(await trial.stop([worker]), warm + count)
    return await _entered(trial, count, warm + count, answer["ns"], costs)


async def _entered(trial: Trial, count: int, total: int, nanoseconds: int, costs: Costs) -> Outcome:
    """The rate, after the database has said that all of them are there."""
    if (there := await trial.entered()) != total:
        raise JobsLost(f"{total:,} jobs were enqueued and {there:,} are there")
    return Outcome({"rate": count * 1e9 / nanoseconds}, costs)


def _workload(name: str, title: str, run: Callable[[Trial], Awaitable[Outcome]], needs: str) -> Workload:
    return Workload(name, title, "rate", "jobs/s", run, frozenset({needs}))


WORKLOADS = (
    _workload("W1", "single enqueue, one producer, each awaited", one_by_one, "single"),
    _workload("W2", "bulk enqueue, 10,000 a call", in_bulk, "bulk"),
    _workload(
        "clients",
        f"single enqueues from {CLIENTS} callers of one application at once",
        partial(from_many_clients, apart=False),
        "clients",
    ),
    _workload(
        "clients-apart",
        f"single enqueues from {CLIENTS} clients that share nothing",
        partial(from_many_clients, apart=True),
        "clients",
    ),
    *(
        replace(
            _workload(
                f"clients-{name}",
                f"the same beside a worker that takes the jobs, {what}",
                partial(beside_a_worker, quiet=name == "quiet"),
                "quiet",
            ),
            core=False,
        )
        for name, what in (("heard", "told by notices"), ("quiet", "without any notice"))
    ),
)
