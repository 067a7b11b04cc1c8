"""Results as values, and as the JSON document that the renderer reads."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.probe import Costs
from bench.stats import Spread, summarize

__all__ = ["Measurement", "Results", "load", "save"]

FORMAT = 1


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
class Results:
    """A whole run."""

    command: str
    environment: Mapping[str, Any]
    options: Mapping[str, Any]
    systems: Sequence[Mapping[str, str]]
    """Name, version and settings, in words."""
    absent: Sequence[Mapping[str, str]]
    """Systems that were asked for and could not be had, each with the reason."""
    measurements: Sequence[Measurement]

    def of(self, workload: str, system: str) -> list[Measurement]:
        return [
            one
            for one in self.measurements
            if one.workload == workload and one.system == system and one.error is None
        ]

    def figure(self, workload: str, system: str, name: str) -> Spread | None:
        """The median over the repetitions and its spread; None if there is none."""
        found = [one.figures[name] for one in self.of(workload, system) if name in one.figures]
        return summarize(found) if found else None

    def ratio(
        self, name: str, over: tuple[str, str], under: tuple[str, str], under_name: str | None = None
    ) -> Spread | None:
        """(workload, system) against another, repetition by repetition: both saw the same minutes."""
        above = {one.rep: one.figures.get(name) for one in self.of(*over)}
        below = {one.rep: one.figures.get(under_name or name) for one in self.of(*under)}
        pairs = [(above[rep], below[rep]) for rep in above.keys() & below.keys()]
        parts = [a / b for a, b in pairs if a is not None and b]
        return summarize(parts) if parts else None

    def cost(self, workload: str, system: str, name: str) -> Spread | None:
        found = [getattr(one.costs, name) for one in self.of(workload, system) if one.costs is not None]
        known = [value for value in found if value is not None]
        return summarize(known) if known else None

    def failures(self) -> list[Measurement]:
        return [one for one in self.measurements if one.error is not None]

    def system_names(self) -> list[str]:
        return [system["name"] for system in self.systems]

    def workload_names(self) -> list[str]:
        return list(dict.fromkeys(one.workload for one in self.measurements))


def save(results: Results, path: Path) -> None:
    document = {"format": FORMAT, **asdict(results)}
    path.write_text(json.dumps(document, indent=1) + "\n")


def load(path: Path) -> Results:
    document = json.loads(path.read_text())
    if document.pop("format", None) != FORMAT:
        raise SystemExit(f"bench: {path.name} is not a file of results that this bench can read")
    measurements = [_measurement(one) for one in document.pop("measurements")]
    return Results(**document, measurements=measurements)


def merge(parts: Iterable[Results]) -> Results:
    """Several runs as one: repetitions are counted on, the environment is that of the first."""
    first, *others = parts
    measurements = list(first.measurements)
    systems = {system["name"]: system for system in first.systems}
    for other in others:
        offset = 1 + max((one.rep for one in measurements), default=-1)
        for system in other.systems:
            systems.setdefault(system["name"], system)
        measurements += [_measurement({**asdict(one), "rep": one.rep + offset}) for one in other.measurements]
    return Results(
        first.command, first.environment, first.options, list(systems.values()), first.absent, measurements
    )


def _measurement(fields: Mapping[str, Any]) -> Measurement:
    costs = fields.get("costs")
    return Measurement(**{**fields, "costs": None if costs is None else Costs(**costs)})
