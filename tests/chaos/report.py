"""What a run leaves behind: text for a terminal, JSON for a program, a page for a person."""

import json
from pathlib import Path

from tests.chaos.page import render
from tests.chaos.runner import Result

__all__ = ["as_text", "write"]


def as_text(result: Result) -> str:
    """The verdict first, then what was broken, then what there was."""
    plan = result.plan
    verdict = "KEPT" if result.kept else "BROKEN"
    jobs, faults = result.counts["jobs asked for"], sum(result.started.values())
    world = f"{plan.workers} workers × {plan.concurrency} slots, leases of {plan.lease_seconds:g} s"
    times = (
        f"{result.phases['faults']:.0f} s under faults, {result.phases['healed']:.0f} s to drain afterwards"
    )
    lines = [
        f"{verdict}: seed {plan.seed}, {jobs:,} jobs, {faults} faults, PostgreSQL {result.version}",
        f"{world}, {times}",
        "",
    ]
    for rule, found in result.findings.items():
        lines.append(f"  {rule:<24}{len(found):>8}")
        lines += [f"      {why}" for why in found[:5]]
    if plan.standby == "async":
        lines += [
            "",
            "  The standby was asynchronous: what it had not received is counted above, and is no fault.",
        ]
    lines += ["", *(f"  {name:<24}{number:>8,}" for name, number in result.counts.items()), ""]
    lines += [f"  fault {name:<18}{number:>8}" for name, number in sorted(result.started.items())]
    lines += [f"  absent: {name} ({why})" for name, why in result.absent.items()]
    return "\n".join(lines) + "\n"


def write(result: Result, directory: Path) -> list[Path]:
    """Three files; the page needs nothing beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = {
        "report.txt": as_text(result),
        "report.json": json.dumps(result.to_json(), indent=1, default=str),
        "report.html": render(result, as_text(result)),
    }
    for name, text in texts.items():
        (directory / name).write_text(text)
    return [directory / name for name in texts]
