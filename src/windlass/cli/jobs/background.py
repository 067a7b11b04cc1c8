"""`windlass jobs redrive --background`: count, show, ask, and start a redrive that is a job itself."""

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias
from uuid import UUID

import typer

from windlass.cli.diff import payload_diff, print_diffs
from windlass.cli.handover import read_payload
from windlass.cli.load import load_app
from windlass.cli.options import WrongUsage
from windlass.cli.output import Column, note, print_json, print_table, say
from windlass.cli.progress import counted
from windlass.cli.session import open_client
from windlass.cli.text import brief_stamp, plain, stamp
from windlass.cli.unserved import is_served
from windlass.cli.watch import watch_redrive
from windlass.client import SyncClient
from windlass.client.redrive import new_redrive
from windlass.errors import UnknownKind
from windlass.model.redrive import REDRIVE_KIND, SYSTEM_QUEUE, DeadJob, NewRedrive, Preview

__all__ = [
    "App",
    "Background",
    "How",
    "Patch",
    "Sample",
    "StopAfter",
    "StopRate",
    "Throttle",
    "Watch",
    "follow",
    "run",
]

PATIENCE_SECONDS = 60.0

_PANEL = "With --background"

Background: TypeAlias = Annotated[
    bool, typer.Option("--background", help="As a job of its own, which survives this command.")
]
Watch: TypeAlias = Annotated[
    bool, typer.Option("--watch", help="Follow the redrive; without --background, the one with this ID.")
]
Patch: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="JSON", help="A merge patch for the payloads (RFC 7396), of one kind.", rich_help_panel=_PANEL
    ),
]
Throttle: TypeAlias = Annotated[
    float | None, typer.Option(metavar="N", help="At most so many per second.", rich_help_panel=_PANEL)
]
StopRate: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Stop when this share of those that ended died again.", rich_help_panel=_PANEL
    ),
]
StopAfter: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="But not before so many have ended.", rich_help_panel=_PANEL)
]
Sample: TypeAlias = Annotated[
    int, typer.Option(min=0, max=100, metavar="N", help="Show so many of them first.", rich_help_panel=_PANEL)
]
App: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:APP",
        help="Try the patched payloads on its handlers first.",
        rich_help_panel=_PANEL,
    ),
]


class How(NamedTuple):
    """How the command was called, apart from what is to be redriven."""

    sample: int
    dry_run: bool
    yes: bool
    watch: bool
    reason: str | None
    as_json: bool


def run(client: SyncClient, asked: dict[str, Any], how: How) -> None:
    """Count first; then show, or ask and start."""
    if not (how.dry_run or how.yes or sys.stdin.isatty()):
        raise WrongUsage("there is nobody to ask: say --yes, or --dry-run to see what it would be")
    app, patch = asked.pop("app"), asked.pop("patch")
    redrive = new_redrive(**asked, patch=None if patch is None else read_payload(patch, "the patch"))
    found = _count(client, redrive, how.sample)
    faults = _try_on(app, redrive, found.sample)
    if how.dry_run and how.as_json:
        sample = list(_documents(redrive, found, faults))
        print_json({"dry_run": True, "matched": found.matched, "sample": sample})
        return
    if how.dry_run or not how.yes:
        _print_preview(redrive, found, faults)
    if how.dry_run or not (how.yes or _agreed(found.matched)):
        return
    redrive_id = client.create_redrive(redrive, expected=found.matched, reason=how.reason)
    _tell(client, redrive_id, found.matched, how)
    if how.watch:
        watch_redrive(client, redrive_id, as_json=how.as_json)


def follow(
    ids: Sequence[UUID] | None, database_url: str | None, tenant: str | None, *, alone: bool, as_json: bool
) -> None:
    """Watch a redrive that runs already."""
    if not alone or len(ids or ()) != 1:
        raise WrongUsage("--watch follows one redrive, by its id; --background --watch starts one")
    with open_client(database_url, tenant, patience=PATIENCE_SECONDS) as client:
        watch_redrive(client, (ids or ())[0], as_json=as_json)


def _count(client: SyncClient, redrive: NewRedrive, sample: int) -> Preview:
    pages = counted(
        client.iterate_preview(redrive, sample=sample), "pages of dead jobs looked through", every=1
    )
    *_, last = pages
    return last


def _try_on(app: str | None, redrive: NewRedrive, sample: Sequence[DeadJob]) -> dict[UUID, str]:
    if app is None:
        return {}
    from windlass.app.redrive import refuse_broken_patch

    registry = load_app(app).registry
    for kind in redrive.kinds or ():
        if kind not in registry:
            raise UnknownKind(f"{app} has no handler of the kind {kind!r}")
    return refuse_broken_patch(registry, redrive, sample)


def _documents(redrive: NewRedrive, found: Preview, faults: dict[UUID, str]) -> Iterator[dict[str, Any]]:
    for job in found.sample:
        more = {"diff": None if redrive.patch is None else payload_diff(job), "fault": faults.get(job.id)}
        yield {**plain(job), **more}


def _print_preview(redrive: NewRedrive, found: Preview, faults: dict[UUID, str]) -> None:
    columns: list[Column[DeadJob]] = [
        Column("ID", lambda job: job.id),
        Column("KIND", lambda job: job.kind),
        Column("QUEUE", lambda job: job.queue, spare=3),
        Column("DIED", lambda job: stamp(job.died_at), brief=lambda job: brief_stamp(job.died_at), spare=2),
        Column("ERROR", lambda job: job.error.get("type"), spare=1),
        Column("MESSAGE", lambda job: job.error.get("message"), wraps=20),
    ]
    print_table(columns, found.sample, empty="no dead jobs" if not found.matched else "no sample")
    if redrive.patch is not None:
        print_diffs(found.sample, faults)
    broken = f"; of those shown, {len(faults)} would not be redriven" if faults else ""
    note(f"{found.matched:,} dead {'job' if found.matched == 1 else 'jobs'} match{broken}")


def _agreed(matched: int) -> bool:
    if not matched:
        return False
    if not typer.confirm(f"Redrive {matched:,} dead {'job' if matched == 1 else 'jobs'}?", err=True):
        raise typer.Abort
    return True


def _tell(client: SyncClient, redrive_id: UUID, expected: int, how: How) -> None:
    if not how.as_json:
        say(str(redrive_id))
    elif not how.watch:
        print_json({"id": redrive_id, "expected": expected})
    if not how.as_json and not how.watch:
        note(f"windlass jobs redrive --watch {redrive_id} follows it")
    if is_served(client, client.get_redrive(redrive_id).tenant_id, SYSTEM_QUEUE, REDRIVE_KIND).yes is False:
        note("hint: it waits for a node: start one with `windlass worker MODULE:APP`, or `windlass up`")
