"""`windlass jobs explain`: why a job is not running now, and what would change that."""

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from windlass.cli.options import AsJson, DatabaseUrl, JobId, TenantName
from windlass.cli.output import on_terminal, print_json
from windlass.cli.session import open_client
from windlass.cli.text import clean, plain, span, stamp
from windlass.client import SyncClient
from windlass.model.explanation import Explanation, Reason

__all__ = ["add_to", "lines_of"]

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 60.0

# Text, and how it is painted where there are colors.
Line = list[tuple[str, str]]


def add_to(group: typer.Typer) -> None:
    group.command("explain")(explain_job)


def explain_job(
    job_id: JobId,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again, until the job has ended.")
    ] = False,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say why a job is not running now: every reason, what would end it, and when.

    What keeps every worker from taking the job comes first, in the order in
    which it binds. The exit code is 0 whatever the answer.

    Examples:
      windlass jobs explain "$id"
      windlass jobs explain "$id" --watch
      windlass jobs explain "$id" --json | jq .claimable
    """
    with open_client(database_url, tenant, patience=PATIENCE_SECONDS if watch else 5.0) as client:
        if not watch:
            _show(client.explain_job(job_id), as_json=as_json)
        elif as_json or not on_terminal():
            for found in _changes(client, job_id):
                if as_json:
                    print(json.dumps(plain(_document(found))), flush=True)
                else:
                    _print(found)
        else:
            _show_live(client, job_id)


def _show(found: Explanation, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(found))
    else:
        _print(found)


def _document(found: Explanation) -> dict[str, object]:
    return {
        "id": found.job_id,
        "read_at": found.read_at,
        "claimable": found.claimable,
        "reasons": found.reasons,
    }


def lines_of(found: Explanation) -> Iterator[Line]:
    """The answer for people: a headline, what holds the job back, and what else is to be known."""
    yield [(f"{found.job_id}  {_headline(found)}", "bold")]
    width = max(len(reason.code) for reason in found)
    for reason in sorted(found, key=lambda reason: not reason.blocks):
        yield [
            (f"  {reason.code:<{width}}  ", "yellow" if reason.blocks else "cyan"),
            (clean(reason.says), ""),
        ]
        if until := _until(reason, found.read_at):
            yield [(f"  {'':<{width}}  {clean(until)}", "dim")]


def _headline(found: Explanation) -> str:
    first = found.reasons[0].code
    if found.ended:
        return f"has ended: {first}"
    if found.running:
        return "is running"
    if found.claimable:
        return "is free to run: nothing but its turn and a worker is needed"
    count = len(found.blocking)
    return f"cannot run now, for {count} reason{'s' if count != 1 else ''}"


def _until(reason: Reason, now: datetime) -> str | None:
    """What ends it, and when; the lease of a running job says nothing about its end."""
    left = None if reason.clears_at is None else max(0.0, (reason.clears_at - now).total_seconds())
    if reason.code == "running":
        return None if left is None else f"lease for another {span(left)}, unless it is renewed"
    if reason.clears is None:
        return None
    ends = f"ends with: {reason.clears}"
    if left is None or reason.clears_at is None:
        return ends
    if reason.code == "line":
        return f"{ends}, in about {span(left)}"
    return f"{ends}; {stamp(reason.clears_at)}, {f'in {span(left)}' if left else 'now'}"


def _print(found: Explanation) -> None:
    if on_terminal():
        from rich.console import Console

        Console().print(_painted(found), soft_wrap=True, end="")
    else:
        for line in lines_of(found):
            print("".join(text for text, _ in line), flush=True)


def _painted(found: Explanation) -> Any:
    from rich.text import Text

    lines = [Text.assemble(*line) for line in lines_of(found)]
    return Text("\n").join(lines).append("\n")


def _show_live(client: SyncClient, job_id: UUID) -> None:
    from rich.live import Live

    with Live(auto_refresh=False) as screen:
        for found in _looks(client, job_id):
            screen.update(_painted(found), refresh=True)


def _looks(client: SyncClient, job_id: UUID) -> Iterator[Explanation]:
    while True:
        found = client.explain_job(job_id)
        yield found
        if found.ended:
            return
        time.sleep(LOOK_SECONDS)


def _changes(client: SyncClient, job_id: UUID) -> Iterator[Explanation]:
    told: list[tuple[str, str]] = []
    for found in _looks(client, job_id):
        now = [(reason.code, reason.says) for reason in found]
        if now != told:
            told = now
            yield found
