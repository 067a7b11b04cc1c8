"""What a patch would make of a payload, as a unified diff."""

import difflib
from collections.abc import Iterable
from uuid import UUID

from windlass.cli.output import say
from windlass.cli.text import pretty
from windlass.model.redrive import DeadJob

__all__ = ["payload_diff", "print_diffs"]


def payload_diff(job: DeadJob) -> str:
    """The payload before and after, line by line; empty where the patch changes nothing."""
    before, after = pretty(job.payload).splitlines(), pretty(job.patched).splitlines()
    names = (f"{job.id} {job.kind}", "patched")
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))


def print_diffs(jobs: Iterable[DeadJob], faults: dict[UUID, str]) -> None:
    for job in jobs:
        say()
        say(payload_diff(job) or f"{job.id} {job.kind}: the patch changes nothing")
        if job.id in faults:
            say(f"not redriven: {faults[job.id]}")
