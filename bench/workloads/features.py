"""What a feature of a handler costs: the same drain, one thing different."""

from functools import partial

from bench.trial import Outcome, Trial
from bench.workloads.drain import drain
from bench.workloads.workload import Workload

__all__ = ["TITLES", "WORKLOADS"]

TITLES = {
    "plain": "a coroutine with three typed parameters",
    "unchecked": "the same with parameters of any type: nothing is validated",
    "context": "a handler that takes a context, hence durable claims",
    "model": "a payload that is a pydantic model",
    "result": "a handler that returns a result",
    "thread": "a handler that is not a coroutine",
    "logging": "a log at level debug: a line for each job",
    "telemetry": "a subscriber that hears every signal",
}


async def with_feature(trial: Trial, variant: str) -> Outcome:
    count = trial.load(100_000, least=1_000)
    await trial.preload(count)
    return await drain(trial, count, handler=variant)


WORKLOADS = tuple(
    Workload(
        f"feature-{name}",
        f"drain 100,000 jobs: {title}",
        "rate",
        "jobs/s",
        partial(with_feature, variant=name),
        frozenset({"features"}),
        core=False,
    )
    for name, title in TITLES.items()
)
