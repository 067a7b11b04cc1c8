"""The regression lane: how far below the floor Windlass may be before `./run bench --quick` fails.

Generous on purpose.  The machine that runs it is shared and the runs are short; what it must catch is a
change that halves a figure, not one that moves it by a tenth.
"""

from dataclasses import dataclass

from bench.results import Results

__all__ = ["QUICK", "QUICK_WORKLOADS", "Threshold", "judge", "needs_floor"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A figure of Windlass divided by the floor's in the same repetition; `most` where less is better."""

    workload: str
    figure: str
    least: float | None = None
    most: float | None = None
    floor: str = "floor"
    against: str | None = None
    """Another workload of Windlass itself instead of the floor."""


@dataclass(frozen=True, slots=True)
class Verdict:
    threshold: Threshold
    ratio: float | None
    passed: bool


QUICK_WORKLOADS = ("W1", "W2", "W3", "W4", "W6", "W6c")
QUICK = (
    Threshold("W1", "rate", least=0.25),
    Threshold("W2", "rate", least=0.10),
    Threshold("W3", "rate", least=0.15),
    Threshold("W4", "p50", most=8.0),
    Threshold("W6", "ratio", least=0.50, against="W6c"),
)


def needs_floor(workload: str) -> bool:
    """Whether a threshold holds this workload against the floor, and not against Windlass itself."""
    return any(rule.workload == workload and rule.against is None for rule in QUICK)


def judge(results: Results, thresholds: tuple[Threshold, ...] = QUICK) -> list[Verdict]:
    """What could not be measured has not passed."""
    verdicts = []
    for threshold in thresholds:
        workload = threshold.against or threshold.workload
        system = "windlass" if threshold.against else threshold.floor
        spread = results.ratio(threshold.figure, (threshold.workload, "windlass"), (workload, system))
        ratio = None if spread is None else spread.median
        passed = ratio is not None and (
            (threshold.least is None or ratio >= threshold.least)
            and (threshold.most is None or ratio <= threshold.most)
        )
        verdicts.append(Verdict(threshold, ratio, passed))
    return verdicts
