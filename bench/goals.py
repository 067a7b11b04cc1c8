"""What Windlass sets out to reach, as ratios within one run; the document shows what it did."""

from dataclasses import dataclass

from bench.results import Results
from bench.stats import Spread

__all__ = ["BEST", "GOALS", "Goal", "reached"]

BEST = "best peer"


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of Windlass against a figure of another system, or of itself in another workload, or both."""

    what: str
    workload: str
    figure: str
    bound: float
    least: bool = True
    system: str | None = None
    """What it is held against; `BEST` is the peer that did best. None is Windlass itself."""
    other: str | None = None
    """The workload that it is held against, where that is another."""
    other_figure: str | None = None
    """What the figure is called there, where it has another name."""
    absolute: bool = False
    """The figure itself is held against the bound."""
    aim: bool = False
    """Wished for, and no failure where it is missed."""
    note: str = ""


def _held(what: str, variant: str, peers: str = "W6") -> tuple[Goal, ...]:
    """A workload under a held snapshot: slope and mean beside its control, its end beside a peer's.

    `peers` is what the peer is given: the same where it can do that, and else jobs without anything special.
    """
    workload, control = f"W6{variant}", f"W6c{variant}"
    return (
        Goal(f"{what}, last ÷ first ten seconds, against its control", workload, "ratio", 0.9, other=control),
        Goal(f"{what}, mean rate, against its control", workload, "mean", 0.9, other=control),
        Goal(
            f"{what}, last ten seconds, against those of graphile-worker in {peers}",
            workload,
            "last",
            5.0,
            system="graphile-worker",
            other=peers,
        ),
    )


def _kept(what: str, plain: str, figure: str, plain_figure: str, *, least: bool = True) -> Goal:
    """A workload in a database that keeps ten million finished jobs, against the same in a fresh one."""
    what = f"{what} beside 10,000,000 finished jobs, against {plain}"
    bound = 0.95 if least else round(1 / 0.95, 2)
    return Goal(what, "history", figure, bound, least=least, other=plain, other_figure=plain_figure)


GOALS = (
    Goal("drain, one process, against graphile-worker", "W3", "rate", 1.0, system="graphile-worker"),
    Goal("drain, one process, against PgQueuer", "W3", "rate", 2.0, system="pgqueuer"),
    Goal("drain, one process, against the floor", "W3", "rate", 0.6, system="floor", aim=True),
    Goal("drain, two processes, against graphile-worker", "W3b", "rate", 1.0, system="graphile-worker"),
    Goal("drain, two processes, against the floor", "W3b", "rate", 0.6, system="floor", aim=True),
    Goal("bulk enqueue, against the best peer", "W2", "rate", 1.5, system=BEST),
    Goal("bulk enqueue, against raw COPY", "W2", "rate", 0.7, system="floor", aim=True),
    Goal("single enqueue, against the best peer", "W1", "rate", 1.0, system=BEST),
    Goal("single enqueue, against a raw INSERT", "W1", "rate", 0.8, system="floor", aim=True),
    Goal(
        "32 callers of one application, against inserts without a notice on 32 connections",
        "clients",
        "rate",
        0.8,
        system="floor",
    ),
    Goal(
        "32 clients that share nothing, against bare inserts on 32 connections",
        "clients-apart",
        "rate",
        0.8,
        system="floor",
        aim=True,
        note="with records and tenancy, which a lone enqueue pays for, too",
    ),
    Goal(
        "32 clients that share nothing, against the best peer",
        "clients-apart",
        "rate",
        1.0,
        system=BEST,
    ),
    Goal(
        "32 clients that share nothing beside a worker, against the same without any notice",
        "clients-heard",
        "rate",
        0.8,
        other="clients-quiet",
    ),
    Goal("idle pickup p50, against the best peer", "W4", "p50", 1.0, least=False, system=BEST),
    Goal("idle pickup p99, against the best peer", "W4", "p99", 1.0, least=False, system=BEST),
    Goal("first 20,000 of 1,000,000, against a plain drain", "W5", "rate", 0.95, other="W3"),
    *_held("held snapshot", ""),
    Goal("held snapshot, last ÷ first ten seconds: no slope", "W6", "ratio", 1.0, absolute=True, aim=True),
    *_held("held snapshot with 100 tenants", "-tenants"),
    *_held("held snapshot with retries", "-retries", "W6-retries"),
    *_held("held snapshot with late commits", "-late"),
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
    _kept("drain", "W3", "rate", "rate"),
    _kept("single enqueue", "W1", "w1_rate", "rate"),
    _kept("bulk enqueue", "W2", "w2_rate", "rate"),
    _kept("idle pickup p50", "W4", "w4_p50", "p50", least=False),
    Goal("handlers with 1 ms of waiting, against the floor", "io", "rate", 0.9, system="floor"),
    Goal("transactions per second of an idle worker", "idle", "per_worker", 3.0, least=False, absolute=True),
    Goal(
        "transactions per second of an idle worker",
        "idle",
        "per_worker",
        1.0,
        least=False,
        absolute=True,
        aim=True,
        note="a poll each 500 ms makes 2 by itself",
    ),
    Goal("worker memory, late against early", "memory", "growth", 1.1, least=False, absolute=True),
)


def reached(results: Results, goal: Goal) -> tuple[Spread, str, bool] | None:
    """The ratio, what it was held against, and whether it is enough; None if it was not measured."""
    own = (goal.workload, "windlass")
    if goal.absolute:
        spread, against = results.figure(*own, goal.figure), "–"
    elif goal.system == BEST:
        peers = durable_peers(results, goal)
        if not peers:
            return None
        spread = results.ratio(goal.figure, own, (goal.workload, peers[0]))
        against = f"{peers[0]} (of {', '.join(sorted(peers))})"
    else:
        against = goal.system or "windlass"
        spread = results.ratio(goal.figure, own, (goal.other or goal.workload, against), goal.other_figure)
    if spread is None:
        return None
    return spread, against, spread.median >= goal.bound if goal.least else spread.median <= goal.bound


def durable_peers(results: Results, goal: Goal) -> list[str]:
    """Those that took part, the best first; on Redis a job is not on disk when its enqueue returns."""
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
    return [name for _, name in sorted(found, reverse=goal.least)]
