"""`windlass enqueue`: hand over a job by the name of its kind."""

import sys
from datetime import datetime
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import typer

from windlass.cli.handover import note_taken, read_payload, tell
from windlass.cli.options import (
    AsJson,
    CorrelationId,
    DatabaseUrl,
    Payload,
    TenantName,
    Wait,
    WaitTimeout,
    check_due,
    check_wait,
    to_moment,
    to_seconds,
)
from windlass.cli.output import note
from windlass.cli.session import open_client
from windlass.cli.tree import single
from windlass.cli.unserved import is_served
from windlass.client import SyncClient
from windlass.errors import InvalidInput, UnknownKind
from windlass.model import NewJob
from windlass.model.retry import RETRY_PRESETS

app = single()


@app.command()
def enqueue(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind, as its handler is registered.")],
    payload: Payload = "{}",
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="The queue, if not `default`, or the kind's own.")
    ] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="Larger is sooner; 0, or the kind's own.")
    ] = None,
    run_at: Annotated[
        datetime | None,
        typer.Option(parser=to_moment, metavar="TIME", help="Not before, as in 2030-01-31T09:00:00Z."),
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="SPAN", help="Not before so long from now: 90, 5m, 1h30m."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Idempotency key: a second enqueue finds the first job."),
    ] = None,
    scope: Annotated[
        Literal["forever", "active"],
        typer.Option(help="How long the key counts: while the job is kept, or until it has ended."),
    ] = "forever",
    concurrency_key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Jobs of the kind with this key take turns, in order.")
    ] = None,
    concurrency_limit: Annotated[
        int | None, typer.Option(metavar="N", help="How many with the key at a time, if not one.")
    ] = None,
    max_attempts: Annotated[int | None, typer.Option(metavar="N", help="How often it may be tried.")] = None,
    retry: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"A retry preset: {', '.join(RETRY_PRESETS)}.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(parser=to_seconds, metavar="SPAN", help="How long the handler may run.")
    ] = None,
    app: Annotated[
        str | None,
        typer.Option("--app", metavar="MODULE:APP", help="Go by what the kind declares there."),
    ] = None,
    correlation_id: CorrelationId = None,
    trace_id: Annotated[str | None, typer.Option(metavar="TEXT", help="The trace it belongs to.")] = None,
    wait: Wait = False,
    wait_timeout: WaitTimeout = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Enqueue a job, and print its id.

    Only the name of the kind is known here: what its handler declares, such
    as its queue and its retries, must be said again. With --app it is known,
    and the payload is checked; what is said here goes before it.

    Examples:
      windlass enqueue send_mail '{"to": "ann@example.org"}' --queue mail
      windlass enqueue report - --delay 1h --key report-2030-01 < report.json
      windlass enqueue add '{"a": 1, "b": 2}' --wait --wait-timeout 30s
      windlass enqueue add '{"a": 1}' --app shop.jobs:app
    """
    check_wait(wait, wait_timeout)
    check_due(run_at, delay)
    said: dict[str, Any] = {
        "queue": queue,
        "priority": priority,
        "run_at": run_at,
        "delay": delay,
        "key": key,
        "scope": scope,
        "concurrency_key": concurrency_key,
        "concurrency_limit": concurrency_limit,
        "max_attempts": max_attempts,
        "retry": retry,
        "timeout": timeout,
        "correlation_id": correlation_id,
        "trace_id": trace_id,
    }
    found = None if app is None else _load(app, database_url)
    job = _describe(kind, read_payload(payload), app, found, said)
    if found is not None:
        database_url, tenant = _place(found, database_url, tenant)
    with open_client(database_url, tenant) as client:
        handle = client.enqueue(job)
        if not as_json:
            note_taken(handle, key)
            if app is None and not isinstance(job.payload, dict):
                note("hint: the payload is no JSON object: only a handler of one model may take it")
        served = _look_for_nodes(client, handle.tenant_id, job.queue, kind, as_json=as_json)
        tell(handle, kind, {"served": served}, wait=wait, wait_timeout=wait_timeout, as_json=as_json)


def _load(app: str, database_url: str | None) -> Any:
    from windlass.cli.process import load

    return load(app, database_url)


def _place(found: Any, database_url: str | None, tenant: str | None) -> tuple[str | None, str | None]:
    """Where the program's own jobs go, unless another place is said."""
    named = None if found.tenant is None else str(found.tenant)
    return database_url or found.settings.database_url, tenant or named


def _describe(kind: str, document: Any, app: str | None, found: Any, said: dict[str, Any]) -> NewJob:
    """The job as its kind has it, where the application is named; what is said goes before that."""
    if found is None:
        given = {name: value for name, value in said.items() if value is not None}
        return NewJob(kind=kind, payload={} if document is None else document, **given)
    from windlass.app.function import Enqueuer, JobOptions

    if found.cluster.get(kind) is not None:
        raise InvalidInput(f"{kind!r} is a kind of cluster job", hint="`windlass cluster create` makes one.")
    if kind not in found.registry:
        raise UnknownKind(
            f"{app} has no handler of the kind {kind!r}: it has {', '.join(found.registry.kinds()) or 'none'}"
        )
    options = cast("JobOptions", said)
    return Enqueuer[..., Any](found, found.registry.get(kind), options).new_of(document)


def _look_for_nodes(client: SyncClient, tenant: UUID, queue: str, kind: str, *, as_json: bool) -> bool | None:
    """Whether a node takes such a job; asked only where somebody is there to read the answer."""
    if not as_json and not sys.stderr.isatty():
        return None
    served = is_served(client, tenant, queue, kind)
    if served.hint and not as_json:
        note(f"hint: {served.hint}")
    return served.yes
