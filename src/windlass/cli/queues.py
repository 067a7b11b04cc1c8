"""`windlass queues`: what waits where, and how tenants share a queue."""

from typing import Annotated, Literal

import typer

from windlass.cli.options import AsJson, DatabaseUrl, Reason, TenantName, to_seconds
from windlass.cli.output import Column, print_json, print_table, say
from windlass.cli.session import open_client
from windlass.cli.text import span
from windlass.cli.tree import listing_group
from windlass.model import Queue

app = listing_group("See what waits where, and say how tenants share a queue.")


@app.command("list")
def list_queues(tenant: TenantName = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List the queues with what is in them; --tenant shows one tenant's part.

    Example:
      windlass queues --json | jq '.items | map(select(.ready > 1000) | .name)'
    """
    with open_client(database_url) as client:
        queues = client.list_queues(tenant=tenant)
    if as_json:
        print_json({"items": queues})
        return
    columns: list[Column[Queue]] = [
        Column("QUEUE", lambda queue: queue.name),
        Column("MODE", lambda queue: queue.mode, spare=2),
        Column("AGEING", lambda queue: span(queue.ageing_seconds) if queue.ageing_seconds else None, spare=3),
        Column("READY", lambda queue: queue.ready, right=True),
        Column("SCHEDULED", lambda queue: queue.scheduled, right=True),
        Column("RUNNING", lambda queue: queue.running, right=True),
        Column("OLDEST", shown_age, right=True),
        Column("WAITING NODES", lambda queue: queue.waiting_nodes, right=True, spare=1),
        Column("GATED", lambda queue: "gated" if queue.gated else None, style=lambda queue: "yellow"),
    ]
    print_table(columns, queues, empty="no queues")


def shown_age(queue: Queue) -> str | None:
    """How long the oldest job that is due has waited."""
    return None if queue.oldest_run_at is None else span(queue.oldest_seconds or 0)


@app.command("set")
def set_queue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The queue; it is made if it is new.")],
    mode: Annotated[
        Literal["fair", "strict"] | None,
        typer.Option(help="fair: tenants take turns; strict: priority alone decides."),
    ] = None,
    ageing: Annotated[
        float | None,
        typer.Option(
            parser=to_seconds,
            metavar="SPAN",
            help="Waiting so long lifts a line's priority by one; 0: never.",
        ),
    ] = None,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say how tenants share a queue.

    Examples:
      windlass queues set reports --mode strict
      windlass queues set reports --ageing 10m
    """
    with open_client(database_url) as client:
        client.set_queue(name, mode, ageing_seconds=ageing, reason=reason)
        (queue,) = [queue for queue in client.list_queues() if queue.name == name]
    if as_json:
        print_json({"name": name, "mode": queue.mode, "ageing_seconds": queue.ageing_seconds})
    else:
        ages = f", and ages by one in {span(queue.ageing_seconds)}" if queue.ageing_seconds else ""
        say(f"{name} is {queue.mode}{ages}")
