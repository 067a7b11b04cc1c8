"""`windlass enqueue`: hand over a job by the name of its kind."""

import json
import sys
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import typer

from windlass.cli.options import AsJson, DatabaseUrl, TenantName, WrongUsage, to_moment, to_seconds
from windlass.cli.output import note, print_json, say
from windlass.cli.progress import waiting
from windlass.cli.session import open_client
from windlass.cli.text import pretty
from windlass.cli.tree import single
from windlass.cli.unserved import is_served
from windlass.client import SyncClient
from windlass.errors import InvalidInput
from windlass.model.retry import RETRY_PRESETS

_HINT = (
    """Names and text have double quotes, and the shell wants single ones around it all: '{"name": "Ada"}'."""
)

app = single()


@app.command()
def enqueue(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind, as its handler is registered.")],
    payload: Annotated[
        str, typer.Argument(metavar="PAYLOAD", help="JSON; - reads it from standard input.")
    ] = "{}",
    queue: Annotated[str, typer.Option(metavar="NAME", help="The queue.")] = "default",
    priority: Annotated[int, typer.Option(metavar="N", help="Larger is sooner.")] = 0,
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
    correlation_id: Annotated[
        str | None, typer.Option(metavar="TEXT", help="To find related jobs by.")
    ] = None,
    trace_id: Annotated[str | None, typer.Option(metavar="TEXT", help="The trace it belongs to.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end, and print the result.")] = False,
    wait_timeout: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="SPAN", help="With --wait: give up after so long, exit 10."),
    ] = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Enqueue a job, and print its id.

    Only the name of the kind is known here: what its handler declares, such
    as its queue and its retries, must be said again.

    Examples:
      windlass enqueue send_mail '{"to": "ann@example.org"}' --queue mail
      windlass enqueue report - --delay 1h --key report-2030-01 < report.json
      windlass enqueue add '{"a": 1, "b": 2}' --wait --wait-timeout 30s
    """
    if wait_timeout is not None and not wait:
        raise WrongUsage("--wait-timeout needs --wait")
    document = read_payload(payload)
    with open_client(database_url, tenant) as client:
        handle = client.enqueue_job(
            kind,
            document,
            queue=queue,
            priority=priority,
            run_at=run_at,
            delay=delay,
            key=key,
            scope=scope,
            concurrency_key=concurrency_key,
            concurrency_limit=concurrency_limit,
            max_attempts=max_attempts,
            retry=retry,
            timeout=timeout,
            correlation_id=correlation_id,
            trace_id=trace_id,
        )
        if not handle.created and not as_json:
            note(f"the key {key!r} is taken: this is the job that was there before")
        served = _look_for_nodes(client, handle.tenant_id, queue, kind, as_json=as_json)
        if not wait:
            _print_enqueued(handle.id, handle.tenant_id, handle.created, served, as_json=as_json)
            return
        if not as_json:
            note(f"job {handle.id}")
        with waiting(f"waiting for {kind}"):
            result = handle.wait(timeout=wait_timeout)
    if as_json:
        done = {"id": handle.id, "created": handle.created, "served": served}
        print_json({**done, "state": "succeeded", "result": result})
    else:
        say(pretty(result))


def read_payload(text: str, source: str = "the payload") -> Any:
    """The payload that the word stands for; InvalidInput if it is not JSON."""
    if text == "-":
        text, source = sys.stdin.read(), f"{source} on standard input"
    try:
        return json.loads(text)
    except RecursionError:
        raise InvalidInput(f"{source} is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, character {error.colno}"
        raise InvalidInput(f"{source} is not JSON from {where} on: {_excerpt(error)}", hint=_HINT) from None
    except ValueError:
        raise InvalidInput(f"{source} holds a number that is too long to be read") from None


def _excerpt(error: json.JSONDecodeError) -> str:
    """What stands where the trouble begins."""
    rest = error.doc[error.pos :].partition("\n")[0]
    return f"{rest[:20]!r}" if rest else "it ends too early"


def _look_for_nodes(client: SyncClient, tenant: UUID, queue: str, kind: str, *, as_json: bool) -> bool | None:
    """Whether a node takes such a job; asked only where somebody is there to read the answer."""
    if not as_json and not sys.stderr.isatty():
        return None
    served = is_served(client, tenant, queue, kind)
    if served.hint and not as_json:
        note(f"hint: {served.hint}")
    return served.yes


def _print_enqueued(
    job_id: UUID, tenant_id: UUID, created: bool, served: bool | None, *, as_json: bool
) -> None:
    if as_json:
        print_json({"id": job_id, "tenant_id": tenant_id, "created": created, "served": served})
    else:
        say(str(job_id))
