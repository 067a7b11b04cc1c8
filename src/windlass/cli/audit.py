"""`windlass audit`: who did what, and whether anybody has changed what it says."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from windlass.cli.exits import Exit
from windlass.cli.options import (
    AsJson,
    DatabaseUrl,
    TenantName,
    WrongUsage,
    split_names,
    to_id,
    to_moment_or_span,
)
from windlass.cli.output import Column, note, print_json, print_table, say
from windlass.cli.progress import advancing
from windlass.cli.session import open_client, read_settings, resolve_moment
from windlass.cli.text import brief_stamp, plain, stamp
from windlass.cli.tree import listing_group
from windlass.client import SyncClient
from windlass.errors import Forbidden
from windlass.model import AuditReport, Event, Page
from windlass.settings import Settings

Installation = Annotated[
    bool, typer.Option("--installation", help="That of the installation itself: queues, nodes, gates of all.")
]
TENANTS = 500

app = listing_group("Read who did what and why, and check that nobody has changed it.")


@app.command("list")
def list_events(
    actor: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this one did.")] = None,
    action: Annotated[
        list[str] | None, typer.Option(metavar="ACTION", help="As in job.cancel, job.dead, gate.set.")
    ] = None,
    job: Annotated[UUID | None, typer.Option(parser=to_id, metavar="ID", help="Only of this job.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(parser=to_moment_or_span, metavar="TIME", help="Since then, or since so long: 2h."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(parser=to_moment_or_span, metavar="TIME", help="Before then, or so long ago."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most so many.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Go on where a page ended: its next_cursor.")
    ] = None,
    installation: Installation = False,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List what was done and how jobs ended; the latest deed or enqueue first.

    A deed and a death stand where they happened. Any other end of a job stands
    where the job was enqueued: below what was done meanwhile, however late it
    came. --since 10m shows all that happened lately, wherever it stands.

    Examples:
      windlass audit list --actor ann@example --since 1d
      windlass audit list --action job.cancel,job.redrive
      windlass audit list --job "$id" --json
    """
    _refuse_both(tenant, installation=installation)
    filters: dict[str, Any] = {"by": actor, "actions": split_names(action, "--action"), "job": job}
    with open_client(database_url, tenant) as client:
        filters["from_"] = resolve_moment(client, since, -1)
        filters["to"] = resolve_moment(client, until, -1)
        page = _fill_page(client, {**filters, "installation": installation}, limit, cursor)
    if as_json:
        print_json({"items": page.items, "next_cursor": page.next_cursor})
        return
    columns: list[Column[Event]] = [
        Column("TIME", lambda event: stamp(event.at), brief=lambda event: brief_stamp(event.at)),
        Column("ACTION", lambda event: event.action),
        Column("BY", lambda event: event.actor, wraps=10),
        Column("JOB", lambda event: event.job_id),
        Column("REASON", lambda event: event.reason, wraps=20, spare=1),
        Column("PLACE", lambda event: event.place, right=True, spare=2),
    ]
    print_table(columns, page.items, empty="no events")
    if page.next_cursor is not None:
        note(f"There are more: --cursor {page.next_cursor}.")


def _fill_page(client: SyncClient, filters: Mapping[str, Any], limit: int, cursor: str | None) -> Page[Event]:
    """A filter that lets few events through is asked until the page is full."""
    page: Page[Event] = client.list_events(**filters, limit=limit, cursor=cursor)
    events = list(page)
    while len(events) < limit and page.next_cursor is not None:
        page = client.list_events(**filters, limit=limit - len(events), cursor=page.next_cursor)
        events.extend(page)
    return Page(tuple(events), page.next_cursor)


@app.command("verify")
def verify_audit(
    everything: Annotated[bool, typer.Option("--all", help="Every tenant, and the installation.")] = False,
    installation: Installation = False,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="HEAD", help="A head that an earlier check has shown: the chain must lead through it."
        ),
    ] = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check that no event was altered, removed or inserted; exits with 12 if one was.

    The head at the end of a chain, noted where nobody who can write the database
    can write, shows later that even a chain written anew is another one.

    Examples:
      windlass audit verify --tenant acme
      windlass audit verify --all --json
      windlass audit verify --known "$head"
    """
    _refuse_both(tenant, installation=installation, everything=everything)
    if everything and known is not None:
        raise WrongUsage("a known head belongs to one chain: give it without --all")
    with open_client(database_url, tenant) as client:
        reports = []
        own = tenant or _own_name(client, read_settings(database_url))
        for name, whose in _chains(client, own, installation=installation, everything=everything):
            with advancing(f"rows of {name} checked") as progress:
                report: AuditReport = client.verify_audit(**whose, known=known, progress=progress)
            reports.append((name, report))
            if not as_json:
                _print_report(name, report)
    sound = all(report.sound for _, report in reports)
    if as_json:
        items = [{"audit": name, "sound": report.sound, **plain(report)} for name, report in reports]
        print_json({"sound": sound, "items": items})
    if not sound:
        raise typer.Exit(Exit.AUDIT_BROKEN)


def _own_name(client: SyncClient, settings: Settings) -> str:
    """What the tenant is called that is meant where none is named; a bound role finds its own only."""
    if settings.named_tenant is not None:
        return settings.named_tenant
    found = client.list_tenants(limit=2).items
    return found[0].slug if len(found) == 1 else settings.tenant


def _refuse_both(tenant: str | None, *, installation: bool, everything: bool = False) -> None:
    if (tenant is not None) + installation + everything > 1:
        raise WrongUsage("say whose audit: a tenant, the installation" + (" or --all" if everything else ""))


def _chains(
    client: SyncClient, own: str, *, installation: bool, everything: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The audits meant, each with a name for people and how the client is asked for it."""
    if installation or everything:
        try:
            client.list_events(installation=True, limit=1)
        except Forbidden:
            if installation:
                raise
            note("the installation's own audit is not open to this role")
        else:
            yield "the installation", {"installation": True}
    else:
        yield own, {}
    if everything:
        page = client.list_tenants(limit=TENANTS)
        while True:
            for found in page:
                yield found.slug, {"tenant": found.id}
            if page.next_cursor is None:
                return
            page = client.list_tenants(limit=TENANTS, cursor=page.next_cursor)


def _print_report(name: str, report: AuditReport) -> None:
    if report.fault is None:
        rest = f", {report.unsealed:,} not sealed yet" if report.unsealed else ""
        head = f"; head {report.head}" if report.sealed else ""
        say(f"ok      {name}: {report.sealed:,} event{'s' * (report.sealed != 1)} sealed{rest}{head}")
        return
    fault = report.fault
    where = [
        f"event {fault.event_id}" if fault.event_id else "",
        f"place {fault.place}" if fault.place else "",
    ]
    where.append(f"of {stamp(fault.at)}" if fault.at else "")
    say(f"BROKEN  {name}: {fault.message} ({', '.join(part for part in (fault.fault, *where) if part)})")
