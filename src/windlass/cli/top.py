"""`windlass top`: the installation at a glance, looked at again every second while somebody watches."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from windlass.cli.nodes import shown_state
from windlass.cli.options import AsJson, DatabaseUrl, TenantName, to_seconds
from windlass.cli.output import Column, make_table, on_terminal, print_lines, print_table, say
from windlass.cli.queues import shown_age
from windlass.cli.session import database_now, open_client
from windlass.cli.text import brief_stamp, clean, stamp
from windlass.cli.tree import single
from windlass.client import SyncClient
from windlass.errors import InvalidInput, Unavailable
from windlass.model import Node, Queue, Tenant

app = single()

T = TypeVar("T")

SECONDS, SHORTEST = 1.0, 0.1
ROWS = 12
"""So many lines of each table are shown, the busiest first."""
TENANTS = 100
"""So many tenants are looked at, by their slugs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One look at everything; what is seen in its parts may be some milliseconds apart."""

    at: datetime
    ready: int
    scheduled: int
    running: int
    gates: int
    queues: tuple[Queue, ...]
    nodes: tuple[Node, ...]
    tenants: tuple[Tenant, ...]

    def headline(self) -> str:
        active = [node for node in self.nodes if node.active]
        slots = f"{sum(node.running for node in active)} of {sum(node.concurrency for node in active)} slots"
        jobs = f"{self.ready:,} ready, {self.scheduled:,} scheduled, {self.running:,} running"
        nodes = f"{len(active)} node{'' if len(active) == 1 else 's'}, {slots} busy"
        gates = f"; {self.gates} gate{'' if self.gates == 1 else 's'}" if self.gates else ""
        return f"{stamp(self.at)}  {jobs}; {nodes}{gates}"


Look: TypeAlias = tuple[Snapshot, Unavailable | None]


@app.command()
def top(
    interval: Annotated[
        float | None,
        typer.Option(
            parser=to_seconds,
            metavar="SPAN",
            help="How long between two looks, if not a second; 100ms at least.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="End after so many looks; without a terminal, 1.")
    ] = None,
    tenant: TenantName = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Watch queues, nodes and tenants: what waits, what runs, and where.

    On a terminal it looks again every second until Ctrl-C; anywhere else, and
    with --json, it looks once. --tenant shows the queues as one tenant has
    them. Lines are counted up to a bound, so that looking costs little.

    Examples:
      windlass top
      windlass top --interval 5s --tenant acme
      windlass top --json | jq '.queues | map({name, ready})'
    """
    pause = SECONDS if interval is None else interval
    if pause < SHORTEST:
        raise InvalidInput(f"--interval must be {SHORTEST:g} s or more: every look asks the database")
    live = on_terminal() and not as_json
    with open_client(database_url) as client:
        looks = watch(client, tenant, pause, count if live or count else 1)
        if as_json:
            print_lines(_answered(looks))
        elif live:
            _show_live(looks)
        else:
            _print_all(_answered(looks))


def take_snapshot(client: SyncClient, tenant: str | None) -> Snapshot:
    queues = client.list_queues(tenant=tenant)
    return Snapshot(
        at=database_now(client),
        ready=sum(queue.ready for queue in queues),
        scheduled=sum(queue.scheduled for queue in queues),
        running=sum(queue.running for queue in queues),
        gates=len(client.list_gates(tenant=tenant)),
        queues=tuple(queues),
        nodes=tuple(client.list_nodes()),
        tenants=() if tenant is not None else tuple(client.list_tenants(limit=TENANTS)),
    )


def watch(client: SyncClient, tenant: str | None, interval: float, count: int | None) -> Iterator[Look]:
    """One look after the other; while the database does not answer, the last one, with the reason."""
    look: Look = take_snapshot(client, tenant), None
    for number in itertools.count(1):
        yield look
        if number == count:
            return
        time.sleep(interval)
        try:
            look = take_snapshot(client, tenant), None
        except Unavailable as error:
            look = look[0], error


def _answered(looks: Iterator[Look]) -> Iterator[Snapshot]:
    for look, error in looks:
        if error is not None:
            raise error
        yield look


def _print_all(looks: Iterator[Snapshot]) -> None:
    for number, look in enumerate(looks):
        if number:
            say()
        say(look.headline())
        for columns, rows in _tables(look):
            say()
            print_table(columns, rows, empty="")


def _show_live(looks: Iterator[Look]) -> None:
    """Ctrl-C is how one leaves it, hence no error."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    console = Console()
    if console.is_dumb_terminal:
        _print_all(_answered(looks))
        return
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            for look, error in looks:
                shown = [make_table(columns, rows, console.width)[0] for columns, rows in _tables(look)]
                if error is not None:
                    shown.insert(0, Text(f"no answer since: {clean(error.message)}", style="yellow"))
                live.update(Group(Text(look.headline(), style="bold"), *shown), refresh=True)
    except KeyboardInterrupt:
        return


def _tables(look: Snapshot) -> Iterator[tuple[Sequence[Column[Any]], Sequence[Any]]]:
    """What there is to show; tenants only where there is more than the one that everybody has."""
    if look.queues:
        yield _QUEUES, _busiest(look.queues, lambda queue: (queue.running + queue.ready, queue.scheduled))
    if look.nodes:
        yield _NODES, _busiest(look.nodes, lambda node: (node.active, node.running))
    if len(look.tenants) > 1:
        yield (
            _TENANTS,
            _busiest(look.tenants, lambda tenant: (tenant.running + tenant.ready, tenant.scheduled)),
        )


def _busiest(items: Sequence[T], weight: Callable[[T], tuple[int, int]]) -> list[T]:
    return sorted(items, key=weight, reverse=True)[:ROWS]


_QUEUES: list[Column[Queue]] = [
    Column("QUEUE", lambda queue: queue.name),
    Column("READY", lambda queue: queue.ready, right=True),
    Column("SCHEDULED", lambda queue: queue.scheduled, right=True),
    Column("RUNNING", lambda queue: queue.running, right=True),
    Column("OLDEST", shown_age, right=True),
    Column("GATED", lambda queue: "gated" if queue.gated else None, style=lambda queue: "yellow"),
]
_NODES: list[Column[Node]] = [
    Column("NODE", lambda node: node.name),
    Column("STATE", shown_state, style=lambda node: "green" if node.active else "dim"),
    Column("RUNNING", lambda node: f"{node.running}/{node.concurrency}", right=True),
    Column("QUEUES", lambda node: ",".join(node.queues), wraps=12),
    Column(
        "HEARTBEAT",
        lambda node: stamp(node.heartbeat_at),
        brief=lambda node: brief_stamp(node.heartbeat_at),
        spare=1,
    ),
]
_TENANTS: list[Column[Tenant]] = [
    Column("TENANT", lambda tenant: tenant.slug),
    Column("WEIGHT", lambda tenant: tenant.weight, right=True),
    Column("READY", lambda tenant: tenant.ready, right=True),
    Column("SCHEDULED", lambda tenant: tenant.scheduled, right=True),
    Column("RUNNING", lambda tenant: tenant.running, right=True),
]
