"""The verbs of producers, operators and readers: one function here for one SQL function, of the same name.

These calls also run on connections of others, hence two rules: JSON travels as text, which every
driver leaves alone, and an id is read as a UUID, whatever the driver makes of it.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.model import Attempt, Job, NewJob, Page

__all__ = [
    "End",
    "Enqueued",
    "Redriven",
    "cancel_job",
    "clock",
    "enqueue_job",
    "enqueue_jobs",
    "get_job",
    "get_job_end",
    "list_attempts",
    "list_jobs",
    "redrive_jobs",
    "reschedule_job",
    "tenant_id",
]


class Enqueued(NamedTuple):
    """The job behind an enqueue; not `created` means that it was there before."""

    job_id: UUID
    created: bool


class End(NamedTuple):
    """What somebody who waits for a job must know."""

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


def read_uuid(value: Any) -> UUID:
    return value if type(value) is UUID else UUID(str(value))


def read_json(value: Any) -> Any:
    return None if value is None else json.loads(value)


def tenant_id(slug: str) -> Call[UUID]:
    return Call("select windlass.tenant_id($1::text)", (slug,), lambda rows: read_uuid(rows[0][0]))


def clock() -> Call[datetime]:
    """The time by which jobs are due."""
    return Call("select windlass.clock()", (), _moment)


def _moment(rows: Sequence[Row]) -> datetime:
    moment: datetime = rows[0][0]
    return moment


_ENQUEUE = (
    "select job_id, created from windlass.enqueue_job($1::uuid, $2::text, $3::text::jsonb, $4::text, $5::int,"
    " $6::timestamptz, $7::text, $8::text, $9::int, $10::text::jsonb, $11::int, $12::text, $13::text,"
    " $14::uuid)"
)


def enqueue_job(tenant: UUID, job: NewJob, payload: str) -> Call[Enqueued]:
    """`payload` is the job's payload as JSON text."""
    values = (
        tenant,
        job.kind,
        payload,
        job.queue,
        job.priority,
        job.run_at,
        job.key,
        job.scope,
        job.attempts,
        None if job.retry is None else json.dumps(job.retry.to_json()),
        job.timeout_ms,
        job.trace_id,
        job.correlation_id,
        job.id,
    )
    return Call(_ENQUEUE, values, lambda rows: Enqueued(read_uuid(rows[0][0]), rows[0][1]))


def enqueue_jobs(tenant: UUID, jobs: Sequence[str]) -> Call[list[Enqueued]]:
    """`jobs` are JSON objects, as `NewJob.to_json` makes them; the answers come in the same order."""
    text = (
        "select job_id, created from windlass.enqueue_jobs($1::uuid, $2::text::jsonb) order by ordinal"
    )
    return Call(text, (tenant, f"[{','.join(jobs)}]"), _enqueued)


def _enqueued(rows: Sequence[Row]) -> list[Enqueued]:
    return [Enqueued(read_uuid(job_id), created) for job_id, created in rows]


_JOB_FIELDS: Mapping[str, str] = {
    "id": "id",
    "tenant_id": "tenant_id",
    "queue": "queue",
    "kind": "kind",
    "state": "state",
    "priority": "priority",
    "payload": "payload::text",
    "result": "result::text",
    "error": "error::text",
    "run_at": "run_at",
    "created_at": "created_at",
    "started_at": "started_at",
    "finished_at": "finished_at",
    "attempt": "version",
    "counted": "counted",
    "max_attempts": "max_attempts",
    "timeout": "timeout_ms / 1000.0::float8",
    "retry": "retry::text",
    "idempotency_key": "idempotency_key",
    "trace_id": "trace_id",
    "correlation_id": "correlation_id",
    "cost_cents": "cost_cents",
    "node_id": "node_id",
    "lease_expires_at": "lease_expires_at",
    "cancel_requested": "cancel_requested",
    "ended_reason": "ended_reason",
    "read_at": "read_at",
}
_JOB_COLUMNS = ", ".join(_JOB_FIELDS.values())


def get_job(tenant: UUID, job_id: UUID) -> Call[Job]:
    text = f"select {_JOB_COLUMNS} from windlass.get_job($1::uuid, $2::uuid)"  # noqa: S608 - our own names
    return Call(text, (tenant, job_id), lambda rows: _job(rows[0]))


def get_job_end(tenant: UUID, job_id: UUID) -> Call[End]:
    """`get_job` for somebody who asks again and again: without the payload."""
    text = (
        "select state, result::text, error::text, version, ended_reason"
        " from windlass.get_job($1::uuid, $2::uuid)"
    )
    return Call(text, (tenant, job_id), _end)


def _job(row: Row) -> Job:
    values = dict(zip(_JOB_FIELDS, row, strict=True))
    for name in ("payload", "result", "error", "retry"):
        values[name] = read_json(values[name])
    for name in ("id", "tenant_id", "node_id"):
        values[name] = None if values[name] is None else read_uuid(values[name])
    return Job.from_row(values)


def _end(rows: Sequence[Row]) -> End:
    state, result, error, attempts, reason = rows[0]
    return End(state, read_json(result), read_json(error), attempts, reason)
