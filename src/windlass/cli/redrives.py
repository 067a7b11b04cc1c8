"""`windlass redrives`: the redrives that run as jobs."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

import typer

from windlass.cli.options import AsJson, DatabaseUrl, Reason, TenantName, to_id
from windlass.cli.output import Column, note, print_fields, print_json, print_table, say
from windlass.cli.session import open_client
from windlass.cli.text import brief_stamp, pretty, stamp
from windlass.cli.tree import listing_group
from windlass.cli.watch import how_far, who_is_missing
from windlass.model.redrive import Redrive

app = listing_group("See the redrives that run as jobs, and stop one.")

RedriveId = Annotated[UUID, typer.Argument(parser=to_id, metavar="ID", help="The redrive, by its whole id.")]


@app.command("list")
def list_redrives(
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most so many.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Go on where a page ended: its next_cursor.")
    ] = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List the redrives of a tenant, newest first.

    `windlass jobs redrive --background` starts one.

    Example:
      windlass redrives
    """
    with open_client(database_url, tenant) as client:
        page = client.list_redrives(limit=limit, cursor=cursor)
    if as_json:
        print_json({"items": page.items, "next_cursor": page.next_cursor})
        return
    columns: list[Column[Redrive]] = [
        Column("ID", lambda redrive: redrive.id),
        Column("STATE", lambda redrive: redrive.state),
        Column("REDRIVEN", _share, right=True),
        Column("REFUSED", lambda redrive: redrive.refused, right=True, spare=1),
        Column(
            "STARTED",
            lambda redrive: stamp(redrive.created_at),
            brief=lambda redrive: brief_stamp(redrive.created_at),
            spare=2,
        ),
        Column("BY", lambda redrive: redrive.actor, wraps=10, spare=3),
        Column("WHAT", _what, wraps=20),
    ]
    print_table(columns, page.items, empty="no redrives")
    if page.next_cursor is not None:
        note(f"There are more: --cursor {page.next_cursor}")


@app.command("show")
def show_redrive(
    redrive_id: RedriveId,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a redrive: what it is for, how far it is, and why it stopped.

    Example:
      windlass redrives show "$id"
    """
    with open_client(database_url, tenant) as client:
        redrive = client.get_redrive(redrive_id)
        missing = None if as_json else who_is_missing(client, redrive)
    if as_json:
        print_json(redrive)
    else:
        print_fields(_fields(redrive, missing))


@app.command("stop")
def stop_redrive(
    redrive_id: RedriveId,
    reason: Reason = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Let a redrive revive nothing more; what it has revived stays so.

    Example:
      windlass redrives stop "$id" --reason "the relay is down again"
    """
    with open_client(database_url, tenant) as client:
        client.stop_redrive(redrive_id, reason=reason)
        redrive = client.get_redrive(redrive_id)
    if as_json:
        print_json(redrive)
    else:
        say(f"{redrive.state}: {how_far(redrive)}")


def _share(redrive: Redrive) -> str:
    return f"{redrive.redriven}/{'?' if redrive.expected is None else redrive.expected}"


def _what(redrive: Redrive) -> str:
    """The filter as its options say it."""
    options = {
        "--kind": redrive.kinds and ",".join(redrive.kinds),
        "--queue": redrive.queues and ",".join(redrive.queues),
        "--error": redrive.error_like and repr(redrive.error_like),
        "--since": redrive.died_from and stamp(redrive.died_from),
        "--until": redrive.died_to and stamp(redrive.died_to),
    }
    said = [f"{name} {value}" for name, value in options.items() if value]
    if redrive.named is not None:
        said.append(f"{redrive.named} named")
    return " ".join(said) or "--all"


def _fields(redrive: Redrive, missing: str | None) -> Iterator[tuple[str, object]]:
    yield "redrive", redrive.id
    yield "state", redrive.state
    yield "why", redrive.stop_reason or missing
    yield "of", _what(redrive)
    yield "so far", how_far(redrive)
    yield "patch", None if redrive.patch is None else pretty(redrive.patch)
    yield "max attempts", redrive.max_attempts
    yield "throttle", None if redrive.throttle is None else f"{redrive.throttle:g} jobs a second"
    yield (
        "stops",
        None
        if redrive.stop_rate is None
        else f"when {redrive.stop_rate:g} of those that ended died again, of {redrive.stop_after} at least",
    )
    yield "started", f"{stamp(redrive.created_at)} by {redrive.actor}"
    yield "reason", redrive.reason
    yield "ended", redrive.ended_at and stamp(redrive.ended_at)
    for refusal in redrive.refusals:
        yield "refused", f"{refusal.get('job_id')}: {refusal.get('why')}"
