"""Results as JSON documents, one for each command; the page is rendered from several of them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.probe import Costs
from bench.refusal import Refused
from bench.results import Measurement, Results, Run
from bench.workloads.registry import WORKLOADS

__all__ = ["load", "merge", "save"]

FORMAT = 1
ABOUT = (
    "Figures behind docs/performance.md, written by the command below and kept so that the page can be"
    " rendered again: ./run bench --render docs/performance/*.json"
)


def save(results: Results, path: Path) -> None:
    """A line for each measurement: the file is kept, and a difference should be readable."""
    document = {"about": ABOUT, "format": FORMAT, **asdict(results)}
    document.pop("merged")
    measurements = ",\n  ".join(json.dumps(one) for one in document.pop("measurements"))
    head = json.dumps(document, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "measurements": [\n  {measurements}\n ]\n}}\n')


def load(path: Path) -> Results:
    """The results in a file; Refused where it has none."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"{path.name} is not a file of results: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Refused(f"{path.name} is not a file of results that this bench can read")
    try:
        fields = {name: document[name] for name in _FIELDS}
        results = Results(**fields, measurements=[_measurement(one) for one in document["measurements"]])
        _check(results)
        return results
    except (KeyError, TypeError, AttributeError) as error:
        raise Refused(f"{path.name} is not a whole file of results: {error}") from None


def _check(results: Results) -> None:
    """KeyError for what the page needs and the file does not say."""
    for name in _ENVIRONMENT:
        results.environment[name]
    for name in ("reps", "scale"):
        results.options[name]
    for known in (*results.systems, *results.absent):
        known["name"], known["reason" if known in results.absent else "settings"]
    for one in results.measurements:
        WORKLOADS[one.workload]


_ENVIRONMENT = (
    *("at", "cpu", "cores", "memory_gib", "system", "python", "node", "postgresql", "server", "settings"),
    *("file_system", "fsync_us", "load_before", "revision"),
)
_FIELDS = ("command", "environment", "options", "systems", "absent")


def merge(parts: Iterable[Results]) -> Results:
    """Several commands as one; repetitions are counted on, and each command keeps its provenance."""
    first, *others = parts
    if not others:
        return first
    measurements: list[Measurement] = []
    runs: list[Run] = []
    systems: dict[str, Mapping[str, str]] = {}
    absent: dict[str, Mapping[str, str]] = {}
    for part in (first, *others):
        (run,) = part.runs()
        offset = runs[-1].reps.stop if runs else 0
        runs.append(replace(run, reps=range(offset, offset + run.reps.stop)))
        measurements += [replace(one, rep=one.rep + offset) for one in part.measurements]
        for system in part.systems:
            systems.setdefault(system["name"], system)
        absent.update({system["name"]: system for system in part.absent})
    return Results(
        first.command,
        first.environment,
        first.options,
        list(systems.values()),
        [gone for name, gone in absent.items() if name not in systems],
        measurements,
        runs,
    )


def _measurement(fields: Mapping[str, Any]) -> Measurement:
    costs = fields.get("costs")
    return Measurement(**{**fields, "costs": None if costs is None else Costs(**costs)})
