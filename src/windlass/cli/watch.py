"""Watch a redrive until it is over: a line that moves on a terminal, a line per change anywhere else."""

import json
import sys
import time
from collections.abc import Iterator
from uuid import UUID

from windlass.cli.output import note, say
from windlass.cli.text import plain
from windlass.client import SyncClient
from windlass.errors import JobFailed, WindlassError
from windlass.model.redrive import Redrive

__all__ = ["how_far", "watch_redrive", "who_is_missing"]

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


def who_is_missing(client: SyncClient, redrive: Redrive) -> str | None:
    """What it waits for, if that is a node: patched payloads are tried by one that knows their kind."""
    if redrive.over or redrive.patch is None or redrive.kinds is None:
        return None
    try:
        nodes = client.list_nodes()
    except WindlassError:  # a remark beside the answer, and this login may not ask
        return None
    kind = redrive.kinds[0]
    if any(node.active and kind in node.kinds for node in nodes):
        return None
    return f"no active node knows the kind {kind!r}, and only one that does can try its patched payloads"


def _changes(client: SyncClient, redrive_id: UUID) -> Iterator[tuple[Redrive, str]]:
    told = ""
    while True:
        found = client.get_redrive(redrive_id)
        missing = who_is_missing(client, found)
        now = f"{found.state}: {how_far(found)}" + (f"; {missing}" if missing else "")
        if now != told or found.over:
            told = now
            yield found, now
        if found.over:
            return
        time.sleep(LOOK_SECONDS)


def _print_lines(changes: Iterator[tuple[Redrive, str]]) -> Redrive:
    for found, _ in changes:
        print(json.dumps(plain(found)), flush=True)
    return found


def _print_notes(changes: Iterator[tuple[Redrive, str]]) -> Redrive:
    for found, now in changes:
        if not found.over:
            note(now)
    return found


def _show_status(changes: Iterator[tuple[Redrive, str]]) -> Redrive:
    from rich.console import Console

    with Console(stderr=True).status("looking") as line:
        for last in changes:
            line.update(last[1])
    return last[0]
