"""`windlass jobs list`: the jobs of a tenant, filtered, a page at a time or all of them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from windlass.cli.options import AsJson, DatabaseUrl, TenantName, WrongUsage, split_names, to_moment_or_span
from windlass.cli.output import Column, note, print_json, print_lines, print_table
from windlass.cli.progress import counted
from windlass.cli.session import open_client, resolve_moment
from windlass.cli.text import plain, span
from windlass.client import SyncClient
from windlass.model import Job, Page

__all__ = ["add_to", "job_document", "paint"]

_PAGE = 50
_COLORS: Mapping[str, str] = {
    "running": "cyan",
    "succeeded": "green",
    "dead": "bold red",
    "retrying": "yellow",
    "canceled": "dim",
    "skipped": "dim",
}


def add_to(group: typer.Typer) -> None:
    group.command("list")(list_jobs)


def list_jobs(
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="As in queued, scheduled, retrying, running, dead."),
    ] = None,
    queue: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only of these queues.")] = None,
    kind: Annotated[list[str] | None, typer.Option(metavar="KIND", help="Only of these kinds.")] = None,
    correlation_id: Annotated[str | None, typer.Option(metavar="TEXT", help="Only with this one.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=to_moment_or_span, metavar="TIME", help="Created since then, or since so long: 2h."
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(parser=to_moment_or_span, metavar="TIME", help="Created before then, or so long ago."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="At most so many: 50, unless told.")
    ] = None,
    cursor: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Go on where a page ended: its next_cursor.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every page; with --json one job per line.")
    ] = False,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first; waiting ones alone in the order in which they are claimed.

    Options that name something may be repeated or hold a list, as in
    --state dead,running.

    Examples:
      windlass jobs list --state dead --queue mail
      windlass jobs list --kind send_mail --since 2h
      windlass jobs list --state dead --all --json | jq -r .id
    """
    if everything and (cursor is not None or limit is not None):
        raise WrongUsage("--all is every page: it excludes --cursor and --limit")
    filters: dict[str, Any] = {
        "states": split_names(state, "--state"),
        "queues": split_names(queue, "--queue"),
        "kinds": split_names(kind, "--kind"),
        "correlation_id": correlation_id,
        "documents": as_json,  # the table shows none
    }
    with open_client(database_url, tenant) as client:
        filters["created_from"] = resolve_moment(client, since, -1)
        filters["created_to"] = resolve_moment(client, until, -1)
        if everything:
            _print_all(client.iterate_jobs(**filters), as_json=as_json)
            return
        page = _fill_page(client, filters, _PAGE if limit is None else limit, cursor)
    if as_json:
        print_json({"items": [job_document(job) for job in page], "next_cursor": page.next_cursor})
        return
    _print_jobs(page.items)
    if page.next_cursor is not None:
        note(f"There are more: --cursor {page.next_cursor}, or --all.")


def _fill_page(client: SyncClient, filters: Mapping[str, Any], limit: int, cursor: str | None) -> Page[Job]:
    """A page as people expect it: a filter that lets few jobs through is asked until it is full."""
    page: Page[Job] = client.list_jobs(**filters, limit=limit, cursor=cursor)
    jobs = list(page)
    while len(jobs) < limit and page.next_cursor is not None:
        page = client.list_jobs(**filters, limit=limit - len(jobs), cursor=page.next_cursor)
        jobs.extend(page)
    return Page(tuple(jobs), page.next_cursor)


def _print_all(jobs: Iterator[Job], *, as_json: bool) -> None:
    if as_json:
        print_lines(job_document(job) for job in jobs)
    else:
        _print_jobs(list(counted(jobs, "jobs read")))


def job_document(job: Job) -> dict[str, Any]:
    """A job as its JSON has it: its fields, and the state as people see it."""
    return {**plain(job), "shown_state": job.shown_state}


def paint(state: str) -> str:
    return _COLORS.get(state, "")


def _print_jobs(jobs: Sequence[Job]) -> None:
    columns: list[Column[Job]] = [
        Column("ID", lambda job: job.id),
        Column("KIND", lambda job: job.kind),
        Column("QUEUE", lambda job: job.queue, spare=4),
        Column("STATE", lambda job: job.shown_state, style=lambda job: paint(job.shown_state)),
        Column("TRIED", lambda job: f"{job.counted}/{job.max_attempts}", right=True, spare=2),
        Column("PRIORITY", lambda job: job.priority, right=True, spare=5),
        Column("CREATED", lambda job: _ago(job, job.created_at), right=True, spare=3),
        Column("SINCE", _since, spare=1),
    ]
    print_table(columns, jobs, empty="no jobs")


def _since(job: Job) -> str:
    """How long it has been as it is, or how long until it may run."""
    if job.finished_at is not None:
        return _ago(job, job.finished_at)
    if job.state == "running" and job.started_at is not None:
        return _ago(job, job.started_at)
    return _ago(job, job.run_at)


def _ago(job: Job, moment: datetime) -> str:
    elapsed = (job.read_at or datetime.now(UTC)) - moment
    if elapsed < timedelta():
        return f"in {span(-elapsed.total_seconds())}"
    return f"{span(elapsed.total_seconds())} ago"
