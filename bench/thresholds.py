"""The regression lane: how far below the floor Windlass may be before `./run bench --quick` fails.

The machine that runs it is shared and the runs are short, so a tenth more or less means nothing.  What it
must catch is a change that halves a figure: each threshold lies between what docs/performance.md shows and
half of that, nearer to the half.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.results import Results

__all__ = ["QUICK", "QUICK_WORKLOADS", "Threshold", "judge", "judged", "needs_floor"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A figure of Windlass divided by the floor's in the same repetition; `most` where less is better."""

    workload: str
    figure: str
    least: float | None = None
    most: float | None = None
    against: str | None = None
    """Another workload of Windlass itself instead of the floor."""


@dataclass(frozen=True, slots=True)
class Verdict:
    threshold: Threshold
    ratio: float | None
    passed: bool


QUICK_WORKLOADS = ("W1", "W2", "W3", "W4", "W6", "W6c")
QUICK = (
    Threshold("W1", "rate", least=0.45),
    Threshold("W2", "rate", least=0.40),
    Threshold("W3", "rate", least=0.40),
    Threshold("W4", "p50", most=4.0),
    Threshold("W6", "ratio", least=0.55, against="W6c"),
)


def needs_floor(workload: str) -> bool:
    """Whether a threshold holds this workload against the floor, and not against Windlass itself."""
    return any(rule.workload == workload and rule.against is None for rule in QUICK)


def judged(workloads: Iterable[str]) -> tuple[Threshold, ...]:
    """The thresholds that can be judged where these were measured."""
    chosen = set(workloads)
    return tuple(rule for rule in QUICK if {rule.workload, rule.against or rule.workload} <= chosen)


def judge(results: Results, thresholds: tuple[Threshold, ...] = QUICK) -> list[Verdict]:
    """What could not be measured has not passed."""
    verdicts = []
    for threshold in thresholds:
        workload = threshold.against or threshold.workload
        system = "windlass" if threshold.against else "floor"
        spread = results.ratio(threshold.figure, (threshold.workload, "windlass"), (workload, system))
        ratio = None if spread is None else spread.median
        passed = ratio is not None and (
            (threshold.least is None or ratio >= threshold.least)
            and (threshold.most is None or ratio <= threshold.most)
        )
        verdicts.append(Verdict(threshold, ratio, passed))
    return verdicts
