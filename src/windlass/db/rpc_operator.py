"""The verbs of those who run an installation: one function here for one SQL function, of the same name."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import Columns, read_json, read_uuid
from windlass.model import Event, Gate, Node, Page, Queue, Tenant, Unserved

__all__ = [
    "bind_role",
    "bound_tenant",
    "clear_gate",
    "create_tenant",
    "health",
    "list_events",
    "list_gates",
    "list_nodes",
    "list_queues",
    "list_tenants",
    "list_unserved",
    "set_gate",
    "set_queue",
    "set_tenant",
    "unbind_role",
]

_GATE = Columns(
    Gate.from_row, ids="id tenant_id", plain="queue kind node reason actor created_at expires_at releases"
)
_TENANT = Columns(Tenant.from_row, ids="id", plain="slug name created_at ready scheduled running weight")
_QUEUE = Columns(
    Queue.from_row,
    plain="name mode ready scheduled running oldest_run_at oldest_seconds waiting_nodes gated created_at"
    " ageing_seconds",
)
_UNSERVED = Columns(Unserved.from_row, plain="queue kind ready scheduled kind_known")
_NODE = Columns(
    Node.from_row,
    ids="id",
    plain="name host pid version queues kinds concurrency started_at heartbeat_at stopped_at active running"
    " address member leads draining",
)
_EVENT = Columns(Event.from_row, ids="id job_id", json="details", plain="at actor action reason login place")


def set_gate(
    tenant: UUID | None,
    queue: str | None,
    kind: str | None,
    node: str | None,
    *,
    reason: str | None,
    actor: str | None,
    expires_at: datetime | None,
    release: bool,
    everything: bool,
) -> Call[UUID]:
    """The id of the gate; a scope has one gate at most."""
    text = (
        "select windlass.set_gate(p_tenant => $1::uuid, p_queue => $2::text, p_kind => $3::text,"
        " p_node => $4::text, p_reason => $5::text, p_actor => $6::text, p_expires_at => $7::timestamptz,"
        " p_release => $8::boolean, p_everything => $9::boolean)"
    )
    return Call(text, (tenant, queue, kind, node, reason, actor, expires_at, release, everything), _id)


def clear_gate(
    gate: UUID | None,
    tenant: UUID | None,
    queue: str | None,
    kind: str | None,
    node: str | None,
    *,
    reason: str | None,
    actor: str | None,
) -> Call[UUID]:
    """By its id, or by exactly its scope."""
    text = (
        "select windlass.clear_gate(p_gate => $1::uuid, p_tenant => $2::uuid, p_queue => $3::text,"
        " p_kind => $4::text, p_node => $5::text, p_reason => $6::text, p_actor => $7::text)"
    )
    return Call(text, (gate, tenant, queue, kind, node, reason, actor), _id)


def list_gates(tenant: UUID | None) -> Call[list[Gate]]:
    text = _GATE.select("windlass.list_gates(p_tenant => $1::uuid)")
    return Call(text, (tenant,), _GATE.read_all)


def create_tenant(slug: str, name: str | None, reason: str | None, actor: str | None) -> Call[UUID]:
    text = "select windlass.create_tenant($1::text, $2::text, p_reason => $3::text, p_actor => $4::text)"
    return Call(text, (slug, name, reason, actor), _id)


def bound_tenant() -> Call[UUID | None]:
    """The tenant that the login is bound to; None if it is free to name any."""
    return Call("select windlass_data.bound_tenant()", (), lambda rows: rows[0][0] and read_uuid(rows[0][0]))


def list_tenants(limit: int, after: str | None) -> Call[Page[Tenant]]:
    """By slug; the cursor is the last slug of a page."""
    text = _TENANT.select("windlass.list_tenants(p_limit => $1::int, p_after => $2::text)")
    return Call(text, (limit, after), lambda rows: _tenant_page(rows, limit))


def _tenant_page(rows: Sequence[Row], limit: int) -> Page[Tenant]:
    tenants = tuple(_TENANT.read_all(rows))
    return Page(tenants, tenants[-1].slug if len(tenants) >= limit else None)


def bind_role(role: str, tenant: UUID, reason: str | None, actor: str | None) -> Call[None]:
    text = "select windlass.bind_role($1::text::name, $2::uuid, p_reason => $3::text, p_actor => $4::text)"
    return Call(text, (role, tenant, reason, actor), _nothing)


def unbind_role(role: str, reason: str | None, actor: str | None) -> Call[UUID]:
    """The tenant to which the role was bound."""
    text = "select windlass.unbind_role($1::text::name, p_reason => $2::text, p_actor => $3::text)"
    return Call(text, (role, reason, actor), _id)


def set_tenant(tenant: UUID, weight: int, reason: str | None, actor: str | None) -> Call[None]:
    text = "select windlass.set_tenant($1::uuid, $2::int, p_reason => $3::text, p_actor => $4::text)"
    return Call(text, (tenant, weight, reason, actor), _nothing)


def set_queue(
    queue: str, mode: str | None, ageing_seconds: float | None, reason: str | None, actor: str | None
) -> Call[None]:
    text = (
        "select windlass.set_queue($1::text, $2::text, p_ageing_seconds => $3::float8,"
        " p_reason => $4::text, p_actor => $5::text)"
    )
    return Call(text, (queue, mode, ageing_seconds, reason, actor), _nothing)


def list_queues(tenant: UUID | None) -> Call[list[Queue]]:
    text = _QUEUE.select("windlass.list_queues(p_tenant => $1::uuid)")
    return Call(text, (tenant,), _QUEUE.read_all)


def list_unserved(tenant: UUID | None, queue: str | None, kind: str | None) -> Call[list[Unserved]]:
    text = _UNSERVED.select(
        "windlass.list_unserved(p_tenant => $1::uuid, p_queue => $2::text, p_kind => $3::text)"
    )
    return Call(text, (tenant, queue, kind), _UNSERVED.read_all)


def list_nodes(*, stopped: bool) -> Call[list[Node]]:
    text = _NODE.select("windlass.list_nodes(p_stopped => $1::boolean)")
    return Call(text, (stopped,), _NODE.read_all)


def list_events(
    tenant: UUID,
    *,
    actor: str | None = None,
    actions: Sequence[str] | None = None,
    job: UUID | None = None,
    from_: datetime | None = None,
    to: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Call[Page[Event]]:
    text = _EVENT.select(
        "windlass.list_events($1::uuid, p_actor => $2::text, p_actions => $3::text[],"
        " p_from => $4::timestamptz, p_to => $5::timestamptz, p_limit => $6::int, p_cursor => $7::text,"
        " p_job => $8::uuid)",
        also="cursor",
    )
    values = (tenant, actor, None if actions is None else list(actions), from_, to, limit, cursor, job)
    return Call(text, values, lambda rows: _event_page(rows, limit))


def _event_page(rows: Sequence[Row], limit: int) -> Page[Event]:
    events = tuple(_EVENT.read(row) for row in rows if row[0] is not None)
    more = len(rows) >= limit or (len(rows) > 0 and rows[-1][0] is None)
    return Page(events, rows[-1][-1] if more else None)


def health() -> Call[Mapping[str, Any]]:
    """What a doctor asks about the server, as far as the role may see it."""
    return Call("select windlass.health()::text", (), lambda rows: read_json(rows[0][0]))


def _id(rows: Sequence[Row]) -> UUID:
    return read_uuid(rows[0][0])


def _nothing(_rows: Sequence[Row]) -> None:
    return None
