"""Where the figures come from: the commands, the machine, the systems, and who is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.peers.catalog import PEERS
from bench.report.markdown import one_line, table
from bench.results import Results, Run

__all__ = ["environment", "unmeasured"]


def environment(results: Results, pictures: Sequence[str]) -> str:
    """Each command with its date and revision, where it ran, and what took part."""
    return "\n\n".join([_commands(results), *_machines(results), _systems(results)])


def unmeasured(results: Results) -> list[tuple[str, str]]:
    """Each peer that gave no figure at all, and why."""
    measured = {one.system for one in results.measurements if one.error is None}
    reasons = {one["name"]: one_line(one["reason"]) for one in results.absent}
    failed = {one.system: "each of its runs failed" for one in results.failures()}
    why = {**failed, **reasons}
    return [(name, why.get(name, "not asked for")) for name in PEERS if name not in measured]


def _commands(results: Results) -> str:
    titles = (
        "",
        "command",
        "measured",
        "revision",
        "repetitions",
        "scale",
        "load before",
        "one fsync of 8 kB",
    )
    return table(titles, [_command(number, run) for number, run in enumerate(results.runs(), 1)])


def _command(number: int, run: Run) -> tuple[str, ...]:
    at = run.environment
    fsync = "unknown" if at["fsync_us"] is None else f"{at['fsync_us']} µs"
    return (
        str(number),
        f"`{run.command}`",
        at["at"][:16].replace("T", " "),
        f"`{at['revision']}`",
        str(run.options["reps"]),
        f"{run.options['scale']:g}",
        f"{at['load_before']:g}",
        fsync,
    )


def _machines(results: Results) -> list[str]:
    """One table where all commands ran in one place, else one for each place."""
    places: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for number, run in enumerate(results.runs(), 1):
        places.setdefault(_place(run.environment), []).append(str(number))
    if len(places) == 1:
        return [table(("", ""), next(iter(places)))]
    return [table(("of command", ", ".join(numbers)), rows) for rows, numbers in places.items()]


def _place(at: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    settings = ", ".join(f"`{name}={value}`" for name, value in at["settings"].items())
    return (
        ("machine", f"{at['cpu']}, {at['cores']} cores, {at['memory_gib']:g} GiB, {at['system']}"),
        ("file system", at["file_system"]),
        ("PostgreSQL", f"{at['postgresql']}, {at['server']}"),
        ("settings", settings),
        ("Python, Node", f"{at['python']}, {at['node'] or 'none'}"),
    )


def _systems(results: Results) -> str:
    rows = [(f"`{one['name']}` {one['version']}", one["settings"]) for one in results.systems]
    rows += [(f"`{name}`", f"not measured: {reason}") for name, reason in unmeasured(results)]
    return table(("system", "settings"), rows)
