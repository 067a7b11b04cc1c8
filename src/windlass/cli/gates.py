"""`windlass gates`: pause everything, a tenant, a queue, a kind or a node, and let it go on."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from windlass.cli.options import AsJson, DatabaseUrl, Reason, TenantName, WrongUsage, to_id, to_moment_or_span
from windlass.cli.output import Column, note, print_json, print_table, say
from windlass.cli.session import open_client, resolve_moment
from windlass.cli.text import brief_stamp, stamp
from windlass.cli.tree import listing_group
from windlass.client import SyncClient
from windlass.errors import WindlassError
from windlass.model import Gate

OfTenant = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="Of this tenant.")]
OfQueue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Of this queue.")]
OfKind = Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Of this kind.")]
OnNode = Annotated[str | None, typer.Option("--node", metavar="NODE", help="On this node, by name or id.")]
Everything = Annotated[bool, typer.Option("--everything", help="All jobs, everywhere.")]


app = listing_group("Pause a part of the work, or all of it, and let it go on.")


@app.command("list")
def list_gates(tenant: TenantName = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List the gates that hold now; --tenant shows those that hold something of one tenant.

    Example:
      windlass gates list --tenant acme
    """
    with open_client(database_url) as client:
        gates = client.list_gates(tenant=tenant)
    if as_json:
        print_json({"items": gates})
        return
    columns: list[Column[Gate]] = [
        Column("ID", lambda gate: gate.id),
        Column("HOLDS", lambda gate: gate.scope, wraps=12),
        Column("REASON", lambda gate: gate.reason, wraps=20),
        Column("BY", lambda gate: gate.actor, wraps=10, spare=2),
        Column("RUNNING", lambda gate: "released" if gate.releases else "runs on", spare=4),
        Column(
            "SINCE",
            lambda gate: stamp(gate.created_at),
            brief=lambda gate: brief_stamp(gate.created_at),
            spare=3,
        ),
        Column(
            "UNTIL",
            lambda gate: gate.expires_at and stamp(gate.expires_at),
            brief=lambda gate: gate.expires_at and brief_stamp(gate.expires_at),
            spare=1,
        ),
    ]
    print_table(columns, gates, empty="no gates")


@app.command("set")
def set_gate(
    tenant: OfTenant = None,
    queue: OfQueue = None,
    kind: OfKind = None,
    node: OnNode = None,
    everything: Everything = False,
    until: Annotated[
        datetime | None,
        typer.Option(
            parser=to_moment_or_span, metavar="TIME", help="It ends by itself: a time, or a span: 2h."
        ),
    ] = None,
    release: Annotated[
        bool, typer.Option("--release", help="Stop what runs, too: it waits again, as if it had not begun.")
    ] = False,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Hold every claim that matches all of the options; what runs already, runs on.

    With --release handlers that run are canceled and their jobs given back;
    those in threads are told, and go on unless they heed it. Set again, a
    gate is replaced as a whole: what is not said anew no longer holds.

    Examples:
      windlass gates set --queue mail --until 2h --reason "relay is down"
      windlass gates set --tenant acme --kind import
      windlass gates set --everything --release --reason "moving the database"
    """
    _require_scope(tenant, queue, kind, node, everything=everything)
    with open_client(database_url) as client:
        expires_at = resolve_moment(client, until, +1)
        gate_id = client.set_gate(
            tenant=tenant,
            queue=queue,
            kind=kind,
            node=node,
            reason=reason,
            expires_at=expires_at,
            release=release,
            everything=everything,
        )
        if not as_json:
            for remark in _unknown(client, queue, kind):
                note(f"hint: {remark}")
    if as_json:
        print_json({"id": gate_id, "expires_at": expires_at})
    else:
        say(str(gate_id))


@app.command("clear")
def clear_gate(
    gate_id: Annotated[
        UUID | None, typer.Argument(parser=to_id, metavar="ID", help="The gate, by its id.")
    ] = None,
    tenant: OfTenant = None,
    queue: OfQueue = None,
    kind: OfKind = None,
    node: OnNode = None,
    everything: Everything = False,
    reason: Reason = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Remove one gate, named by its id or by exactly the options it was set with.

    Examples:
      windlass gates clear --queue mail
      windlass gates clear "$id" --reason "relay is back"
    """
    if gate_id is None:
        _require_scope(tenant, queue, kind, node, everything=everything)
    elif everything:
        raise WrongUsage("a gate is cleared by its id or by its scope, not by both")
    with open_client(database_url) as client:
        cleared = client.clear_gate(gate_id, tenant=tenant, queue=queue, kind=kind, node=node, reason=reason)
    if as_json:
        print_json({"id": cleared})
    else:
        say(f"cleared {cleared}")


def _unknown(client: SyncClient, queue: str | None, kind: str | None) -> Iterator[str]:
    """What was perhaps misspelled: a remark and never an error, for a gate may come before its first job."""
    if queue is None and kind is None:
        return
    try:
        active = [node for node in client.list_nodes() if node.active]
        taken = {name for node in active for name in node.queues}
        known = {name for node in active for name in node.kinds}
        if queue is not None and queue not in taken and not _is_there(client, queue):
            yield f"there is no queue {queue!r} yet, and no active node would take from it"
        if kind is not None and kind not in known and not client.list_unserved(kind=kind):
            yield f"no active node knows the kind {kind!r}, and no job of it waits"
    except WindlassError:
        return


def _is_there(client: SyncClient, queue: str) -> bool:
    return queue.startswith("windlass.") or any(found.name == queue for found in client.list_queues())


def _require_scope(*parts: str | None, everything: bool) -> None:
    if everything == any(part is not None for part in parts):
        raise WrongUsage("say what: --tenant, --queue, --kind, --node, or --everything alone")
