"""Watch a redrive until it is over: a line that moves on a terminal, a line per change anywhere else."""

import json
import sys
import time
from collections.abc import Iterator
from uuid import UUID

from windlass.cli.output import note, say
from windlass.cli.text import plain
from windlass.client import SyncClient
from windlass.errors import JobFailed
from windlass.model.redrive import Redrive

__all__ = ["how_far", "watch_redrive"]

LOOK_SECONDS = 0.5


def watch_redrive(client: SyncClient, redrive_id: UUID, *, as_json: bool) -> None:
    """Return when it is done; JobFailed if it ended otherwise."""
    changes = _changes(client, redrive_id)
    if as_json:
        last = _print_lines(changes)
    elif sys.stderr.isatty():
        last = _show_status(changes)
    else:
        last = _print_notes(changes)
    if not as_json and last.state == "done":
        say(f"{last.state}: {how_far(last)}")
    if last.state != "done":
        why = f": {last.stop_reason}" if last.stop_reason else ""
        raise JobFailed(
            f"redrive {redrive_id} is {last.state}{why} ({how_far(last)})",
            job_id=redrive_id,
            state=last.state,
            reason=last.stop_reason,
        )


def how_far(redrive: Redrive) -> str:
    """Its counts in words: those that are not zero."""
    of = f" of {redrive.expected:,}" if redrive.expected is not None else ""
    parts = [f"{redrive.redriven:,}{of} redriven"]
    if redrive.refused:
        parts.append(f"{redrive.refused:,} refused")
    if redrive.passed:
        parts.append(f"{redrive.passed:,} passed over")
    if redrive.ended:
        parts.append(f"{redrive.died:,} of {redrive.ended:,} that ended died again")
    return ", ".join(parts)


def _changes(client: SyncClient, redrive_id: UUID) -> Iterator[Redrive]:
    told: tuple[object, ...] = ()
    while True:
        found = client.get_redrive(redrive_id)
        now = (found.state, how_far(found))
        if now != told or found.over:
            told = now
            yield found
        if found.over:
            return
        time.sleep(LOOK_SECONDS)


def _print_lines(changes: Iterator[Redrive]) -> Redrive:
    for found in changes:
        print(json.dumps(plain(found)), flush=True)
    return found


def _print_notes(changes: Iterator[Redrive]) -> Redrive:
    for found in changes:
        if not found.over:
            note(f"{found.state}: {how_far(found)}")
    return found


def _show_status(changes: Iterator[Redrive]) -> Redrive:
    from rich.console import Console

    with Console(stderr=True).status("looking") as line:
        for found in changes:
            line.update(f"{found.state}: {how_far(found)}")
    return found
