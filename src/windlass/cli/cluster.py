"""`windlass cluster`: hand over work that every node does, and that its leader finishes."""

from dataclasses import replace
from typing import Annotated, Literal

import typer

from windlass.cli.handover import note_taken, read_payload, tell
from windlass.cli.options import (
    AsJson,
    CorrelationId,
    DatabaseUrl,
    Payload,
    Priority,
    TenantName,
    Wait,
    WaitTimeout,
    check_wait,
    to_seconds,
)
from windlass.cli.output import note
from windlass.cli.session import open_client
from windlass.model import NewJob, RetryPolicy, retry_preset
from windlass.model.cluster import CLUSTER_QUEUE, ClusterJob, NewClusterJob
from windlass.model.names import plural

app = typer.Typer(add_completion=False, no_args_is_help=True)

_QUORUM_SECONDS = 10.0


@app.callback()
def cluster() -> None:
    """Hand over work that every node does, and that its leader finishes."""


@app.command("create")
def create_cluster_job(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind, as an application declares it.")],
    payload: Payload = "{}",
    quorum: Annotated[
        Literal["majority", "all"], typer.Option(help="How many parts must be done.")
    ] = "majority",
    quorum_timeout: Annotated[
        float | None,
        typer.Option(parser=to_seconds, metavar="SPAN", help="How long that may take: 10s, unless told."),
    ] = None,
    on_timeout: Annotated[
        Literal["proceed", "fail", "wait"], typer.Option(help="What follows when that time is up.")
    ] = "proceed",
    on_crash: Annotated[
        Literal["requeue", "fail"], typer.Option(help="What becomes of a part whose node died.")
    ] = "requeue",
    key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Idempotency key, until the job has ended.")
    ] = None,
    priority: Priority = 0,
    max_attempts: Annotated[
        int | None, typer.Option(metavar="N", help="How often the leader's action may be tried.")
    ] = None,
    retry: Annotated[
        str | None, typer.Option(metavar="NAME", help="A retry preset for the leader's action.")
    ] = None,
    part_max_attempts: Annotated[
        int | None, typer.Option(metavar="N", help="How often a part may be tried.")
    ] = None,
    part_retry: Annotated[str | None, typer.Option(metavar="NAME", help="A retry preset for parts.")] = None,
    correlation_id: CorrelationId = None,
    wait: Wait = False,
    wait_timeout: WaitTimeout = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a cluster job with a part for every node, and print its id.

    It is created in the name of whoever leads. Whether nodes have parts in it
    is as the leader's application declares; what that says of quorum, time
    and retries must be said again.

    Examples:
      windlass cluster create compact '{"table": "prices"}' --quorum all --wait
      windlass cluster create compact - --key nightly --on-timeout fail < t.json
    """
    check_wait(wait, wait_timeout)
    new = NewClusterJob(
        job=NewJob(
            kind=kind,
            payload=read_payload(payload),
            queue=CLUSTER_QUEUE,
            priority=priority,
            key=key,
            scope="active",
            max_attempts=max_attempts,
            retry=None if retry is None else retry_preset(retry),
            correlation_id=correlation_id,
        ),
        quorum=quorum,
        quorum_timeout=_QUORUM_SECONDS if quorum_timeout is None else quorum_timeout,
        on_timeout=on_timeout,
        on_crash=on_crash,
        part_retry=_part_policy(part_retry, part_max_attempts),
    )
    with open_client(database_url, tenant) as client:
        handle = client.create_cluster_job(new)
        found = client.get_cluster_job(handle.id, tenant=handle.tenant_id)
        if not as_json:
            note_taken(handle, key)
            _note_parts(found)
        facts = {"parts": len(found.parts), "needed": found.needed, "term": found.term}
        tell(handle, kind, facts, wait=wait, wait_timeout=wait_timeout, as_json=as_json)


def _part_policy(preset: str | None, max_attempts: int | None) -> RetryPolicy | None:
    if preset is None and max_attempts is None:
        return None
    policy = RetryPolicy() if preset is None else retry_preset(preset)
    return policy if max_attempts is None else replace(policy, max_attempts=max_attempts)


def _note_parts(found: ClusterJob) -> None:
    if found.parts:
        note(f"{plural(len(found.parts), 'part')}, {found.needed} needed")
    else:
        note("no parts: the leader alone acts")
