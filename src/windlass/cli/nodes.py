"""`windlass nodes`: the processes that run jobs."""

from collections.abc import Sequence
from typing import Annotated

import typer

from windlass.cli.options import AsJson, DatabaseUrl, Reason
from windlass.cli.output import Column, print_json, print_table, say
from windlass.cli.session import open_client
from windlass.cli.text import brief_stamp, stamp
from windlass.cli.tree import listing_group
from windlass.model import Node

app = listing_group("List the nodes, and what each of them is running; drain one.")


@app.command("list")
def list_nodes(
    stopped: Annotated[bool, typer.Option("--stopped", help="Those too that have stopped.")] = False,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List the nodes, and what each of them is running; the active ones first.

    A member takes part in cluster jobs; one of the members leads.

    Example:
      windlass nodes --stopped
    """
    with open_client(database_url) as client:
        nodes = client.list_nodes(stopped=stopped)
    if as_json:
        print_json({"items": nodes})
        return
    print_table(
        _columns(nodes), nodes, empty="no nodes: start one with `windlass worker MODULE:APP` or `windlass up`"
    )


def _columns(nodes: Sequence[Node]) -> list[Column[Node]]:
    """The addresses only where somebody has said one."""
    columns: list[Column[Node]] = [
        Column("NODE", lambda node: node.name),
        Column("ID", lambda node: node.id),
        Column("STATE", shown_state, style=lambda node: "green" if node.active else "dim"),
        Column("ROLE", _role, spare=2),
        Column("RUNNING", lambda node: f"{node.running}/{node.concurrency}", right=True),
        Column("QUEUES", lambda node: ",".join(node.queues), wraps=12, spare=1),
        Column("KINDS", lambda node: ",".join(node.kinds), wraps=12, spare=3),
        Column("HOST", _host, spare=5),
        Column("ADDRESS", lambda node: node.address, spare=7),
        Column("VERSION", lambda node: node.version, spare=6),
        Column(
            "HEARTBEAT",
            lambda node: stamp(node.heartbeat_at),
            brief=lambda node: brief_stamp(node.heartbeat_at),
            spare=4,
        ),
    ]
    named = any(node.address for node in nodes)
    return [column for column in columns if named or column.title != "ADDRESS"]


def _host(node: Node) -> str:
    return f"{node.host}:{node.pid}"


def shown_state(node: Node) -> str:
    if node.active:
        return "draining" if node.draining else "active"
    return "stopped" if node.stopped_at is not None else "silent"


def _role(node: Node) -> str | None:
    if node.leads:
        return "leader"
    return "member" if node.member else None


@app.command("drain")
def drain_node(
    node: Annotated[str, typer.Argument(metavar="NAME", help="The node's name, or its id.")],
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Let a node claim nothing new, and leave when it is empty.

    What it runs already, runs on, without a limit. It gets no new parts of
    cluster jobs, and another node leads. Started again, it is as before.

    Example:
      windlass nodes drain mill --reason "kernel update"
    """
    with open_client(database_url) as client:
        drained = client.drain_node(node, reason=reason)
    if as_json:
        print_json({"items": drained})
    else:
        say(f"{node} is draining: {len(drained)} node{'s' if len(drained) != 1 else ''}")
