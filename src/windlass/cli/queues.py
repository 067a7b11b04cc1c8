"""`windlass queues`: what waits where, and how tenants share a queue."""

from typing import Annotated, Literal

import typer

from windlass.cli.options import AsJson, DatabaseUrl, Reason, TenantName
from windlass.cli.output import Column, print_json, print_table, say
from windlass.cli.session import open_client
from windlass.cli.text import span
from windlass.cli.tree import listing_group
from windlass.model import Queue

app = listing_group("See what waits where, and say how tenants share a queue.")


@app.command("list")
def list_queues(tenant: TenantName = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List the queues with what is in them; --tenant shows one tenant's part."""
    with open_client(database_url) as client:
        queues = client.list_queues(tenant=tenant)
    if as_json:
        print_json({"items": queues})
        return
    columns: list[Column[Queue]] = [
        Column("QUEUE", lambda queue: queue.name),
        Column("MODE", lambda queue: queue.mode),
        Column("READY", lambda queue: queue.ready, right=True),
        Column("SCHEDULED", lambda queue: queue.scheduled, right=True),
        Column("RUNNING", lambda queue: queue.running, right=True),
        Column("OLDEST", _oldest, right=True),
        Column("WAITING NODES", lambda queue: queue.waiting_nodes, right=True),
        Column("GATED", lambda queue: "gated" if queue.gated else None, style=lambda queue: "yellow"),
    ]
    print_table(columns, queues, empty="no queues")


def _oldest(queue: Queue) -> str | None:
    """How long the oldest job that is due has waited."""
    return None if queue.oldest_run_at is None else span(queue.oldest_seconds or 0)


@app.command("set")
def set_queue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The queue; it is made if it is new.")],
    mode: Annotated[
        Literal["fair", "strict"],
        typer.Option(help="fair: tenants take turns; strict: priority alone decides."),
    ],
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Say how tenants share a queue.

    Example:
      windlass queues set reports --mode strict
    """
    with open_client(database_url) as client:
        client.set_queue(name, mode, reason=reason)
    if as_json:
        print_json({"name": name, "mode": mode})
    else:
        say(f"{name} is {mode}")
