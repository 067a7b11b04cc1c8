"""W4: how long an idle worker takes to begin a job, counted from the return of its enqueue."""

from bench.stats import quantile
from bench.trial import Outcome, Trial
from bench.workloads.workload import Workload

__all__ = ["WORKLOADS", "idle_pickup"]

EVERY_SECONDS = 0.05
WARM_UP = 10


async def idle_pickup(trial: Trial, *, kept: int = 0) -> Outcome:
    """One enqueue each 50 ms.  A handler may begin before the enqueue has returned: that counts as it is.

    `kept` are the records of finished jobs that were there before.
    """
    count = WARM_UP + trial.size(200, least=20)
    worker = await trial.driver()
    await worker.call("work", timeout=120, capacity=count, starts=True)
    producer = await trial.producer()
    answer = await producer.call("paced", first=0, count=count, every=EVERY_SECONDS)
    await trial.drained([worker], count)
    (report,) = await trial.stop([worker])
    await trial.balance([report], count, kept=kept)
    waits = [(report.starts[number] - at) / 1e6 for number, at in answer["returned"][WARM_UP:]]
    return Outcome({"p50": quantile(waits, 0.5), "p99": quantile(waits, 0.99), "max": max(waits)})


WORKLOADS = (
    Workload(
        "W4", "idle worker, one enqueue each 50 ms", "p50", "ms", idle_pickup, lower=True, also=("p99", "max")
    ),
)
