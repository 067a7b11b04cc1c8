"""Results as values, and which of them may be set side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.probe import Costs
from bench.stats import Spread, summarize

__all__ = ["Measurement", "Results", "Run"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one workload on one system; `error` says why there are no figures."""

    workload: str
    system: str
    rep: int
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)
    costs: Costs | None = None
    curve: Sequence[Sequence[float]] = ()
    notes: Sequence[str] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One command: when and where it ran, how, and which repetitions are its own."""

    command: str
    environment: Mapping[str, Any]
    options: Mapping[str, Any]
    reps: range


@dataclass(frozen=True, slots=True)
class Results:
    """What one command measured, or several of them merged."""

    command: str
    environment: Mapping[str, Any]
    options: Mapping[str, Any]
    systems: Sequence[Mapping[str, str]]
    """Name, version and settings, in words."""
    absent: Sequence[Mapping[str, str]]
    """Systems that were asked for and could not be had, each with the reason."""
    measurements: Sequence[Measurement]
    merged: Sequence[Run] = ()
    """The commands that were merged, the first one too."""

    def runs(self) -> Sequence[Run]:
        end = 1 + max((one.rep for one in self.measurements), default=-1)
        return self.merged or (Run(self.command, self.environment, self.options, range(end)),)

    def of(self, workload: str, system: str) -> list[Measurement]:
        """All that gave figures, of whatever command."""
        return [
            one
            for one in self.measurements
            if one.workload == workload and one.system == system and one.error is None
        ]

    def together(self, workload: str) -> frozenset[int]:
        """The repetitions that a workload's figures are taken from.

        They are of one command, the one in which most systems gave a figure (then the one with most
        repetitions, then the last), and in each of them all of these systems took part.  Medians of other
        minutes, or of another revision, are not set beside each other.
        """
        found = [self._common(workload, run) for run in self.runs()]
        return max(reversed(found), key=lambda one: (one[0], len(one[1])), default=(0, frozenset()))[1]

    def _common(self, workload: str, run: Run) -> tuple[int, frozenset[int]]:
        """How many systems a command measured, and the repetitions in which none of them is missing."""
        reps: dict[str, set[int]] = {}
        for one in self.measurements:
            if one.workload == workload and one.error is None and one.rep in run.reps:
                reps.setdefault(one.system, set()).add(one.rep)
        if not reps:
            return 0, frozenset()
        common = set.intersection(*reps.values())
        return len(reps), frozenset(common or set.union(*reps.values()))

    def chosen(self, workload: str, system: str) -> list[Measurement]:
        """Those of `together`."""
        reps = self.together(workload)
        return [one for one in self.of(workload, system) if one.rep in reps]

    def figure(self, workload: str, system: str, name: str) -> Spread | None:
        """The median over the chosen repetitions and its spread; None if there is none."""
        found = [one.figures[name] for one in self.chosen(workload, system) if name in one.figures]
        return summarize(found) if found else None

    def ratio(
        self, name: str, over: tuple[str, str], under: tuple[str, str], under_name: str | None = None
    ) -> Spread | None:
        """(workload, system) against another, repetition by repetition: both saw the same minutes.

        Within one workload these are the repetitions of its figures; between two, all that have both.
        """
        take = self.chosen if over[0] == under[0] else self.of
        above = {one.rep: one.figures.get(name) for one in take(*over)}
        below = {one.rep: one.figures.get(under_name or name) for one in take(*under)}
        pairs = [(above[rep], below[rep]) for rep in above.keys() & below.keys()]
        parts = [a / b for a, b in pairs if a is not None and b]
        return summarize(parts) if parts else None

    def cost(self, workload: str, system: str, name: str) -> Spread | None:
        costs = [one.costs for one in self.chosen(workload, system)]
        found = [getattr(cost, name) for cost in costs if cost is not None]
        known = [value for value in found if value is not None]
        return summarize(known) if known else None

    def failures(self) -> list[Measurement]:
        return [one for one in self.measurements if one.error is not None]

    def system_names(self) -> list[str]:
        return [system["name"] for system in self.systems]

    def workload_names(self) -> list[str]:
        return list(dict.fromkeys(one.workload for one in self.measurements))
