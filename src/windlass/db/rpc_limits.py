"""The verbs about what holds jobs back: one function here for one SQL function, of the same name."""

from collections.abc import Sequence
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import Columns, read_uuid
from windlass.db.rpc_enqueue import Enqueued
from windlass.model.explanation import Explanation, Reason
from windlass.model.limit import Limit, NewLimit

__all__ = ["clear_limit", "enqueue_fitting", "explain_job", "list_limits", "set_limit"]

_LIMIT = Columns(
    Limit.from_row,
    ids="tenant_id",
    plain="id tenant queue kind concurrency running rate rate_seconds burst tokens depth waiting budget_cents"
    " warn_cents budget_period spent_cents again_at reason actor changed_at",
    computed={"read_at": "windlass.clock()"},
)
_REASON = Columns(Reason.from_row, json="details", plain="code blocks says clears clears_at")


def set_limit(tenant: UUID | None, new: NewLimit, *, reason: str | None, actor: str | None) -> Call[int]:
    """The id of the limit; a scope has one at most."""
    text = (
        "select windlass.set_limit(p_tenant => $1::uuid, p_queue => $2::text, p_kind => $3::text,"
        " p_concurrency => $4::int, p_rate => $5::int, p_rate_seconds => $6::float8, p_burst => $7::int,"
        " p_depth => $8::bigint, p_budget_cents => $9::bigint, p_warn_cents => $10::bigint,"
        " p_budget_period => $11::text, p_reason => $12::text, p_actor => $13::text)"
    )
    rate = (new.rate, new.rate_seconds, new.burst)
    budget = (new.budget_cents, new.warn_cents, new.budget_period)
    values = (tenant, new.queue, new.kind, new.concurrency, *rate, new.depth, *budget, reason, actor)
    return Call(text, values, _number)


def clear_limit(
    tenant: UUID | None,
    queue: str | None,
    kind: str | None,
    what: Sequence[str] | None,
    *,
    reason: str | None,
    actor: str | None,
) -> Call[int]:
    """By exactly its scope: all of it, or only what is named."""
    text = (
        "select windlass.clear_limit(p_tenant => $1::uuid, p_queue => $2::text, p_kind => $3::text,"
        " p_what => $4::text[], p_reason => $5::text, p_actor => $6::text)"
    )
    values = (tenant, queue, kind, None if what is None else list(what), reason, actor)
    return Call(text, values, _number)


def list_limits(tenant: UUID | None) -> Call[list[Limit]]:
    text = _LIMIT.select("windlass.list_limits(p_tenant => $1::uuid)")
    return Call(text, (tenant,), _LIMIT.read_all)


def explain_job(tenant: UUID, job_id: UUID) -> Call[Explanation]:
    text = _REASON.select(
        "windlass.explain_job($1::uuid, $2::uuid) order by place", also="windlass.clock() as read_at"
    )
    return Call(text, (tenant, job_id), lambda rows: _explanation(job_id, rows))


def enqueue_fitting(
    tenant: UUID, jobs: Sequence[str], actor: str | None = None
) -> Call[list[Enqueued | None]]:
    """`enqueue_jobs` of those that the limits on depth leave room for; None for each of the others."""
    text = (
        "select job_id, created from windlass.enqueue_jobs($1::uuid, $2::text::jsonb, true, $3::text)"
        " order by ordinal"
    )
    return Call(text, (tenant, f"[{','.join(jobs)}]", actor), _fitting)


def _fitting(rows: Sequence[Row]) -> list[Enqueued | None]:
    return [None if row[0] is None else Enqueued(read_uuid(row[0]), row[1]) for row in rows]


def _explanation(job_id: UUID, rows: Sequence[Row]) -> Explanation:
    return Explanation(job_id=job_id, reasons=tuple(_REASON.read_all(rows)), read_at=rows[0][-1])


def _number(rows: Sequence[Row]) -> int:
    return int(rows[0][0])
