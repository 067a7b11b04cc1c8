"""What Windlass sets out to reach, as ratios within one run; the document shows what it did."""

from dataclasses import dataclass

from bench.results import Results
from bench.stats import Spread

__all__ = ["BEST", "GOALS", "Goal", "reached"]

BEST = "best peer"


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of Windlass against the same figure of another system, or of itself in another workload."""

    what: str
    workload: str
    figure: str
    bound: float
    least: bool = True
    system: str | None = None
    """What it is held against; `BEST` is the peer that did best."""
    other: str | None = None
    """Another workload of Windlass, in place of another system."""
    absolute: bool = False
    """The figure itself is held against the bound."""


GOALS = (
    Goal("drain, one process, against graphile-worker", "W3", "rate", 1.0, system="graphile-worker"),
    Goal("drain, one process, against PgQueuer", "W3", "rate", 2.0, system="pgqueuer"),
    Goal("drain, one process, against the floor", "W3", "rate", 0.6, system="floor"),
    Goal("drain, two processes, against graphile-worker", "W3b", "rate", 1.0, system="graphile-worker"),
    Goal("drain, two processes, against the floor", "W3b", "rate", 0.6, system="floor"),
    Goal("bulk enqueue, against the best peer", "W2", "rate", 1.5, system=BEST),
    Goal("bulk enqueue, against raw COPY", "W2", "rate", 0.7, system="floor"),
    Goal("single enqueue, against the best peer", "W1", "rate", 1.0, system=BEST),
    Goal("single enqueue, against a raw INSERT", "W1", "rate", 0.8, system="floor"),
    Goal("32 clients, against inserts without a notice", "clients", "rate", 0.8, system="floor"),
    Goal("idle pickup p50, against the best peer", "W4", "p50", 1.0, least=False, system=BEST),
    Goal("idle pickup p99, against the best peer", "W4", "p99", 1.0, least=False, system=BEST),
    Goal("first 20,000 of 1,000,000, against a plain drain", "W5", "rate", 0.95, other="W3"),
    Goal("held snapshot, against its control", "W6", "ratio", 0.9, other="W6c"),
    Goal(
        "held snapshot, last ten seconds, against graphile-worker",
        "W6",
        "last",
        5.0,
        system="graphile-worker",
    ),
    Goal(
        "held snapshot with 100 tenants, against its control", "W6-tenants", "ratio", 0.9, other="W6c-tenants"
    ),
    Goal("held snapshot with retries, against its control", "W6-retries", "ratio", 0.9, other="W6c-retries"),
    Goal("held snapshot with late commits, against its control", "W6-late", "ratio", 0.9, other="W6c-late"),
    Goal("1,000 tenants, against one", "tenants-1000", "rate", 0.85, other="tenants-1"),
    Goal("10,000 tenants, against one", "tenants-10000", "rate", 0.75, other="tenants-1"),
    Goal("100 tenants with limits, against without", "limits-100", "rate", 0.85, other="tenants-100"),
    Goal(
        "nine small tenants' p99 wait, against alone",
        "fairness",
        "wait_ratio",
        5.0,
        least=False,
        absolute=True,
    ),
    Goal("what the big tenant keeps of its rate", "fairness", "big_keeps", 0.6, absolute=True),
    Goal("beside 1,000,000 scheduled jobs, against a plain drain", "scheduled", "rate", 0.95, other="W3"),
    Goal("beside 10,000,000 finished jobs, against a plain drain", "history", "rate", 0.95, other="W3"),
    Goal("handlers with 1 ms of waiting, against the floor", "io", "rate", 0.9, system="floor"),
    Goal("transactions per second of an idle worker", "idle", "per_worker", 3.0, least=False, absolute=True),
    Goal("worker memory, late against early", "memory", "growth", 1.1, least=False, absolute=True),
)


def reached(results: Results, goal: Goal) -> tuple[Spread, str, bool] | None:
    """The ratio, what it was held against, and whether it is enough; None if it was not measured."""
    own = (goal.workload, "windlass")
    if goal.absolute:
        spread, against = results.figure(*own, goal.figure), "–"
    elif goal.other is not None:
        spread, against = results.ratio(goal.figure, own, (goal.other, "windlass")), goal.other
    else:
        system = best_peer(results, goal) if goal.system == BEST else goal.system
        if system is None:
            return None
        spread, against = results.ratio(goal.figure, own, (goal.workload, system)), system
    if spread is None:
        return None
    return spread, against, spread.median >= goal.bound if goal.least else spread.median <= goal.bound


def best_peer(results: Results, goal: Goal) -> str | None:
    """The durable peer with the best median; those on Redis do not have a job on disk when they say so."""
    peers = [
        system["name"]
        for system in results.systems
        if not system["name"].startswith(("windlass", "floor")) and "redis" not in system["settings"].lower()
    ]
    found = [
        (spread.median, name)
        for name in peers
        if (spread := results.figure(goal.workload, name, goal.figure))
    ]
    if not found:
        return None
    return (max(found) if goal.least else min(found))[1]
