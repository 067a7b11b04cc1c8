"""The verbs of those who have jobs done: one function here for one SQL function, of the same name."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import Columns, read_json, read_uuid
from windlass.model import Attempt, Job, Page, Transition

__all__ = [
    "End",
    "Redriven",
    "cancel_job",
    "clock",
    "get_job",
    "get_job_end",
    "list_attempts",
    "list_history",
    "list_jobs",
    "redrive_jobs",
    "reschedule_job",
    "tenant_id",
    "tenant_slug",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class End(NamedTuple):
    """What somebody who waits for a job must know."""

    kind: str
    state: str
    result: Any
    error: Mapping[str, Any] | None
    attempts: int
    reason: str | None


class Redriven(NamedTuple):
    """A dead job that was put back into line, or would be."""

    job_id: UUID
    kind: str
    queue: str
    finished_at: datetime
    error: Mapping[str, Any] | None


def _job_columns(documents: str, **left_out: str) -> Columns[Job]:
    return Columns(
        Job.from_row,
        ids="id tenant_id node_id",
        json=documents,
        plain="queue kind state priority run_at created_at started_at finished_at counted max_attempts"
        " idempotency_key trace_id correlation_id cost_cents lease_expires_at cancel_requested ended_reason"
        " read_at concurrency_key concurrency_limit",
        computed={"attempt": "version", "timeout": "timeout_ms / 1000.0::float8", **left_out},
    )


_JOB = _job_columns("payload result error retry")
_JOB_ALONE = _job_columns("retry", payload="null::text")
_ATTEMPT = Columns(
    Attempt.from_row,
    ids="job_id node_id",
    json="result error",
    plain="number counted started_at finished_at outcome ends node_name",
    computed={"cost_cents": "coalesce(cost_cents, 0)"},
)
_TRANSITION = Columns(Transition.from_row, json="details", plain="at what actor attempt reason node_name")


def tenant_id(slug: str) -> Call[UUID]:
    return Call("select windlass.tenant_id($1::text)", (slug,), lambda rows: read_uuid(rows[0][0]))


def tenant_slug(tenant: UUID) -> Call[str]:
    return Call("select windlass.tenant_slug($1::uuid)", (tenant,), lambda rows: str(rows[0][0]))


def clock() -> Call[datetime]:
    """The time by which jobs are due.

    As a number: how a session writes times in text is its owner's affair, and this is asked on callers' own.
    """
    text = "select (extract(epoch from windlass.clock()) * 1000000)::bigint"
    return Call(text, (), lambda rows: _EPOCH + timedelta(microseconds=rows[0][0]))


def _moment(rows: Sequence[Row]) -> datetime:
    moment: datetime = rows[0][0]
    return moment


def get_job(tenant: UUID, job_id: UUID) -> Call[Job]:
    text = _JOB.select("windlass.get_job($1::uuid, $2::uuid)")
    return Call(text, (tenant, job_id), _JOB.read_one)


def get_job_end(tenant: UUID, job_id: UUID) -> Call[End]:
    """`get_job` for somebody who asks again and again: without the payload."""
    text = (
        "select kind, state, result::text, error::text, counted, ended_reason"
        " from windlass.get_job($1::uuid, $2::uuid)"
    )
    return Call(text, (tenant, job_id), _end)


def _end(rows: Sequence[Row]) -> End:
    kind, state, result, error, attempts, reason = rows[0]
    return End(kind, state, read_json(result), read_json(error), attempts, reason)


def list_jobs(
    tenant: UUID,
    *,
    states: Sequence[str] | None = None,
    queues: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    correlation_id: str | None = None,
    created_from: datetime | None = None,
    created_to: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
    documents: bool = True,
) -> Call[tuple[Page[Job], int]]:
    """A page, and how many characters came; without `documents`, no payloads, results and errors."""
    columns = _JOB if documents else _JOB_ALONE
    text = columns.select(
        "windlass.list_jobs($1::uuid, p_states => $2::text[], p_queues => $3::text[], p_kinds => $4::text[],"
        " p_correlation_id => $5::text, p_created_from => $6::timestamptz, p_created_to => $7::timestamptz,"
        " p_limit => $8::int, p_cursor => $9::text)",
        also="cursor",
    )
    names = (_list(states), _list(queues), _list(kinds))
    values = (tenant, *names, correlation_id, created_from, created_to, limit, cursor)
    return Call(text, values, lambda rows: (_job_page(columns, rows, limit), _size(rows)))


def _job_page(columns: Columns[Job], rows: Sequence[Row], limit: int) -> Page[Job]:
    jobs = tuple(columns.read(row) for row in rows if row[0] is not None)
    # A last row without a job only says where to go on: the search has done enough for one page.
    more = len(rows) >= limit or (len(rows) > 0 and rows[-1][0] is None)
    return Page(jobs, rows[-1][-1] if more else None)


def _size(rows: Sequence[Row]) -> int:
    return sum(len(value) for row in rows for value in row if type(value) is str)


def list_attempts(tenant: UUID, job_id: UUID, limit: int, before: int | None) -> Call[list[Attempt]]:
    text = _ATTEMPT.select(
        "windlass.list_attempts($1::uuid, $2::uuid, p_limit => $3::int, p_before => $4::int)"
    )
    return Call(text, (tenant, job_id, limit, before), _ATTEMPT.read_all)


def list_history(tenant: UUID, job_id: UUID, limit: int) -> Call[list[Transition]]:
    text = _TRANSITION.select("windlass.list_history($1::uuid, $2::uuid, p_limit => $3::int)")
    return Call(text, (tenant, job_id, limit), _TRANSITION.read_all)


def cancel_job(tenant: UUID, job_id: UUID, reason: str | None, actor: str | None) -> Call[str]:
    """The state after the call: `canceled`, or `running` for a job that was asked to stop."""
    text = "select windlass.cancel_job($1::uuid, $2::uuid, p_reason => $3::text, p_actor => $4::text)"
    return Call(text, (tenant, job_id, reason, actor), lambda rows: str(rows[0][0]))


def reschedule_job(
    tenant: UUID,
    job_id: UUID,
    run_at: datetime | None,
    priority: int | None,
    reason: str | None,
    actor: str | None,
) -> Call[datetime]:
    """The time from which the job may now run."""
    text = (
        "select windlass.reschedule_job($1::uuid, $2::uuid, p_run_at => $3::timestamptz,"
        " p_priority => $4::int, p_reason => $5::text, p_actor => $6::text)"
    )
    return Call(text, (tenant, job_id, run_at, priority, reason, actor), _moment)


def redrive_jobs(
    tenant: UUID,
    *,
    jobs: Sequence[UUID] | None = None,
    kinds: Sequence[str] | None = None,
    queues: Sequence[str] | None = None,
    error_like: str | None = None,
    finished_from: datetime | None = None,
    finished_to: datetime | None = None,
    limit: int = 1000,
    dry_run: bool = False,
    max_attempts: int | None = None,
    reason: str | None = None,
    actor: str | None = None,
    everything: bool = False,
) -> Call[list[Redriven]]:
    text = (
        "select job_id, kind, queue, finished_at, error::text from windlass.redrive_jobs($1::uuid,"
        " p_jobs => $2::uuid[], p_kinds => $3::text[], p_queues => $4::text[], p_error_like => $5::text,"
        " p_finished_from => $6::timestamptz, p_finished_to => $7::timestamptz, p_limit => $8::int,"
        " p_dry_run => $9::boolean, p_max_attempts => $10::int, p_reason => $11::text, p_actor => $12::text,"
        " p_everything => $13::boolean)"
    )
    filters = (_list(jobs), _list(kinds), _list(queues), error_like, finished_from, finished_to)
    values = (tenant, *filters, limit, dry_run, max_attempts, reason, actor, everything)
    return Call(text, values, _redriven)


def _redriven(rows: Sequence[Row]) -> list[Redriven]:
    return [Redriven(read_uuid(row[0]), row[1], row[2], row[3], read_json(row[4])) for row in rows]


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
