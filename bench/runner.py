"""Runs what was asked for: systems interleaved within each repetition, a fresh database each time."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.progress import Progress
from bench.results import Measurement
from bench.server import MeasuredServer
from bench.systems.system import System
from bench.trial import Trial
from bench.workloads.workload import Workload

__all__ = ["Plan", "make_plan", "run_all"]

Plan = list[tuple[int, Workload, System]]


def make_plan(workloads: Sequence[Workload], systems: Sequence[System], reps: int, seed: int) -> Plan:
    """Each repetition has every pair that fits, the systems in an order of its own."""
    source = random.Random(seed)
    plan: Plan = []
    for rep in range(reps):
        for workload in workloads:
            fit = [system for system in systems if workload.needs <= system.can]
            source.shuffle(fit)
            plan += [(rep, workload, system) for system in fit]
    return plan


async def run_all(
    server: MeasuredServer,
    plan: Plan,
    *,
    scale: float,
    seed: int,
    options: Mapping[str, Any],
    keep: Callable[[list[Measurement]], None],
) -> list[Measurement]:
    """All measurements; `keep` is given those so far after each, since a run may take hours."""
    progress = Progress(len(plan))
    measurements: list[Measurement] = []
    for rep, workload, system in plan:
        progress.step(f"{workload.name} {system.name}")
        one = await measure(
            server, rep, workload, system, scale=scale, seed=seed, options=options, progress=progress
        )
        progress.done(_in_words(workload, one))
        measurements.append(one)
        keep(measurements)
    return measurements


async def measure(
    server: MeasuredServer,
    rep: int,
    workload: Workload,
    system: System,
    *,
    scale: float,
    seed: int,
    options: Mapping[str, Any],
    progress: Progress,
) -> Measurement:
    """One measurement; what goes wrong in it is recorded and the rest goes on."""
    began = time.monotonic()
    try:
        async with (
            server.fresh(migrated=system.migrated) as database,
            Trial(server, system, database, scale, seed, progress.detail, options) as trial,
        ):
            outcome = await workload.run(trial)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return Measurement(workload.name, system.name, rep, time.monotonic() - began, error=text)
    return Measurement(
        workload.name,
        system.name,
        rep,
        round(time.monotonic() - began, 2),
        dict(outcome.figures),
        outcome.costs,
        [list(point) for point in outcome.curve],
        list(outcome.notes),
    )


def _in_words(workload: Workload, one: Measurement) -> str:
    if one.error is not None:
        return f"FAILED, {one.error}"
    value = one.figures[workload.headline]
    digits = 0 if value >= 1000 else 2
    return f"{value:,.{digits}f} {workload.unit}"
