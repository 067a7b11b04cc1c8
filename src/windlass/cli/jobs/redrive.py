"""`windlass jobs redrive`: put dead jobs back into line."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer

from windlass.cli.jobs import background as in_background
from windlass.cli.options import (
    AsJson,
    DatabaseUrl,
    Reason,
    TenantName,
    WrongUsage,
    Yes,
    split_names,
    to_id,
    to_moment_or_span,
)
from windlass.cli.output import Column, note, print_json, print_table, say
from windlass.cli.session import open_client, resolve_moment
from windlass.cli.text import brief_stamp, stamp
from windlass.client import SyncClient
from windlass.db.rpc_client import Redriven


def add_to(group: typer.Typer) -> None:
    group.command("redrive")(redrive_jobs)


def redrive_jobs(
    job_ids: Annotated[
        list[UUID] | None,
        typer.Argument(parser=to_id, metavar="ID", help="These jobs; all of them must be dead."),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(metavar="KIND", help="Only of these kinds.")] = None,
    queue: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only of these queues.")] = None,
    error: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Only if the error is LIKE this: '%timeout%'.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(parser=to_moment_or_span, metavar="TIME", help="Died from then on, or so long ago: 2h."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(parser=to_moment_or_span, metavar="TIME", help="Died before then, or so long ago."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead job of the tenant.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, metavar="N", help="At most so many: 1000, unless told otherwise."),
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(metavar="N", help="How often each may be tried from now on.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which they are.")] = False,
    background: in_background.Background = False,
    watch: in_background.Watch = False,
    patch: in_background.Patch = None,
    throttle: in_background.Throttle = None,
    stop_rate: in_background.StopRate = None,
    stop_after: in_background.StopAfter = 20,
    sample: in_background.Sample = 10,
    app: in_background.App = None,
    yes: Yes = False,
    reason: Reason = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Put dead jobs back into line, with their attempts counted anew.

    A filter is tried first, and the count is to be confirmed. In the
    background there is no limit, and payloads may be patched.

    Examples:
      windlass jobs redrive "$id"
      windlass jobs redrive --kind send_mail --error '%timeout%' --dry-run
      windlass jobs redrive --queue mail --since 2h --yes --reason "relay is back"
      windlass jobs redrive --kind send_mail --patch '{"relay": "b"}' --background
      windlass jobs redrive --all --background --throttle 50 --stop-rate 0.2
      windlass jobs redrive --watch "$redrive"
    """
    filters: dict[str, Any] = {
        "kinds": split_names(kind, "--kind"),
        "queues": split_names(queue, "--queue"),
        "error_like": error,
    }
    filtered = any(value is not None for value in (*filters.values(), since, until))
    if watch and not background:
        in_background.follow(
            job_ids, database_url, tenant, alone=not (filtered or everything), as_json=as_json
        )
        return
    extra = {"patch": patch, "throttle": throttle, "stop_rate": stop_rate, "app": app}
    _refuse_mixture(bool(job_ids), filtered, everything, limit, extra, background=background)
    with open_client(database_url, tenant) as client:
        died = resolve_moment(client, since, -1), resolve_moment(client, until, -1)
        if background:
            asked = {**filters, **extra, "jobs": job_ids, "died_from": died[0], "died_to": died[1]}
            asked |= {"everything": everything, "max_attempts": max_attempts, "stop_after": stop_after}
            how = in_background.How(sample, dry_run, yes, watch, reason, as_json)
            in_background.run(client, asked, how)
            return
        limit = 1000 if limit is None else limit
        filters |= {"finished_from": died[0], "finished_to": died[1]}
        wanted = {"limit": limit, "everything": everything, **({"jobs": job_ids} if job_ids else filters)}
        if not (dry_run or job_ids or yes) and not _confirm(client, wanted):
            raise typer.Abort
        done = client.redrive_jobs(**wanted, dry_run=dry_run, max_attempts=max_attempts, reason=reason)
    if as_json:
        print_json({"dry_run": dry_run, "items": [job._asdict() for job in done]})
    else:
        _print_redriven(done, dry_run=dry_run, limit=limit)


def _refuse_mixture(
    named: bool,
    filtered: bool,
    everything: bool,
    limit: int | None,
    extra: dict[str, Any],
    *,
    background: bool,
) -> None:
    if everything and (named or filtered):
        raise WrongUsage("--all is every dead job of the tenant: it excludes ids and filters")
    if not (everything or named or filtered) or (named and filtered and not background):
        raise WrongUsage("name the jobs by their ids, or by a filter, or say --all")
    if background and limit is not None:
        raise WrongUsage("--limit is not for --background: a filter says which jobs, --throttle how fast")
    for option, value in extra.items():
        if value is not None and not background:
            raise WrongUsage(f"--{option.replace('_', '-')} needs --background")


def _confirm(client: SyncClient, wanted: dict[str, Any]) -> bool:
    if not sys.stdin.isatty():
        raise WrongUsage("there is nobody to ask: say --yes, or --dry-run to see what it would be")
    found = client.redrive_jobs(**wanted, dry_run=True)
    if not found:
        note("no dead jobs")
        raise typer.Exit
    return typer.confirm(f"Redrive {len(found)} dead {_jobs(len(found))}?", err=True)


def _print_redriven(done: Sequence[Redriven], *, dry_run: bool, limit: int) -> None:
    columns: list[Column[Redriven]] = [
        Column("ID", lambda job: job.job_id),
        Column("KIND", lambda job: job.kind),
        Column("QUEUE", lambda job: job.queue, spare=2),
        Column(
            "DIED",
            lambda job: stamp(job.finished_at),
            brief=lambda job: brief_stamp(job.finished_at),
            spare=1,
        ),
        Column("ERROR", lambda job: (job.error or {}).get("message"), wraps=20),
    ]
    if dry_run:
        print_table(columns, done, empty="no dead jobs")
        note(f"{len(done)} {_jobs(len(done))} would be redriven")
    else:
        say(f"{len(done)} {_jobs(len(done))} redriven")
    if len(done) == limit:
        note(f"That is the limit of {limit}: there may be more.")


def _jobs(count: int) -> str:
    return "job" if count == 1 else "jobs"
