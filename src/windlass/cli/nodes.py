"""`windlass nodes`: the processes that run jobs."""

from typing import Annotated

import typer

from windlass.cli.options import AsJson, DatabaseUrl
from windlass.cli.output import Column, print_json, print_table
from windlass.cli.session import open_client
from windlass.cli.text import moment
from windlass.cli.tree import single
from windlass.model import Node

app = single()


@app.command()
def list_nodes(
    stopped: Annotated[bool, typer.Option("--stopped", help="Those too that have stopped.")] = False,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List the nodes, and what each of them is running; the active ones first.

    Example:
      windlass nodes --stopped
    """
    with open_client(database_url) as client:
        nodes = client.list_nodes(stopped=stopped)
    if as_json:
        print_json({"items": nodes})
        return
    columns: list[Column[Node]] = [
        Column("NODE", lambda node: node.name),
        Column("ID", lambda node: node.id),
        Column("STATE", _shown, style=lambda node: "green" if node.active else "dim"),
        Column("RUNNING", lambda node: f"{node.running}/{node.concurrency}", right=True),
        Column("QUEUES", lambda node: ",".join(node.queues)),
        Column("HOST", lambda node: f"{node.host}:{node.pid}"),
        Column("VERSION", lambda node: node.version),
        Column("HEARTBEAT", lambda node: moment(node.heartbeat_at)),
    ]
    print_table(
        columns, nodes, empty="no nodes: start one with `windlass worker MODULE:APP` or `windlass up`"
    )


def _shown(node: Node) -> str:
    if node.active:
        return "active"
    return "stopped" if node.stopped_at is not None else "silent"
