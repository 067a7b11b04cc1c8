"""The verbs of a worker: one function here for one SQL function, of the same name.

Columns are named, never `*`: a function may gain columns without breaking the statements that a
running process has prepared.  JSON travels as text, written and read by us, so that every driver
treats it alike.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.model import ClaimedJob

__all__ = [
    "Ended",
    "Heard",
    "Refused",
    "claim_jobs",
    "complete_jobs",
    "expire_leases",
    "fail_jobs",
    "finish_job",
    "release_jobs",
    "renew_leases",
    "snooze_jobs",
]


class Refused(NamedTuple):
    """A word about a running job that changed nothing, and the error code that says why."""

    job_id: UUID
    code: str


class Ended(NamedTuple):
    """What became of a job whose attempt ended otherwise than with success."""

    job_id: UUID
    code: str
    """`ok`, or the error code of a refused word."""
    state: str | None
    run_at: datetime | None


class Heard(NamedTuple):
    """What a renewal tells the holder: a lost lease (no job), or a job to be canceled."""

    token: UUID
    job_id: UUID | None
    code: str


_CLAIM = (
    "select job_id, tenant_id, queue, kind, priority, payload, token, version, counted, max_attempts,"
    " expires_at, trace_id, correlation_id, created_at, timeout_ms / 1000.0::float8"
    " from windlass.claim_jobs($1::uuid, $2::text[], $3::text[], $4::int, $5::float8, $6::boolean)"
)


def claim_jobs(
    node_id: UUID,
    queues: Sequence[str],
    kinds: Sequence[str] | None,
    limit: int,
    lease_seconds: float,
    *,
    wait: bool = False,
) -> Call[list[ClaimedJob]]:
    """Take up to `limit` jobs; with `wait`, a claim that comes back short asks to be woken."""
    values = (node_id, list(queues), None if kinds is None else list(kinds), limit, lease_seconds, wait)
    return Call(_CLAIM, values, _claimed)


def _claimed(rows: Sequence[Row]) -> list[ClaimedJob]:
    return [ClaimedJob._make(row) for row in rows]


def renew_leases(tokens: Sequence[UUID], lease_seconds: float) -> Call[list[Heard]]:
    text = "select token, job_id, code from windlass.renew_leases($1::uuid[], $2::float8)"
    return Call(text, (list(tokens), lease_seconds), _heard)


def _heard(rows: Sequence[Row]) -> list[Heard]:
    return [Heard._make(row) for row in rows]


def complete_jobs(
    tokens: Sequence[UUID],
    jobs: Sequence[UUID],
    results: Sequence[str | None] | None = None,
    costs: Sequence[int | None] | None = None,
    states: Sequence[str] | None = None,
    tenants: Sequence[UUID] | None = None,
) -> Call[list[Refused]]:
    """`results` are JSON texts; `tenants` only when the same words were said before without an answer."""
    text = (
        "select job_id, code from windlass.complete_jobs("
        "$1::uuid[], $2::uuid[], $3::text[]::jsonb[], $4::bigint[], $5::text[], $6::uuid[])"
    )
    values = (list(tokens), list(jobs), _list(results), _list(costs), _list(states), _list(tenants))
    return Call(text, values, _refused)


def _refused(rows: Sequence[Row]) -> list[Refused]:
    return [Refused._make(row) for row in rows]


def finish_job(token: UUID, job_id: UUID, result: str | None, cost: int | None = None) -> Call[None]:
    """For the caller's own transaction; a lost lease raises there."""
    text = "select windlass.finish_job($1::uuid, $2::uuid, $3::text::jsonb, $4::bigint)"
    return Call(text, (token, job_id, result, cost), _nothing)


def fail_jobs(
    tokens: Sequence[UUID],
    jobs: Sequence[UUID],
    errors: Sequence[str | None] | None = None,
    outcomes: Sequence[str] | None = None,
    delays: Sequence[float | None] | None = None,
    costs: Sequence[int | None] | None = None,
) -> Call[list[Ended]]:
    text = (
        "select job_id, code, state, run_at from windlass.fail_jobs("
        "$1::uuid[], $2::uuid[], $3::text[]::jsonb[], $4::text[], $5::float8[], $6::bigint[])"
    )
    values = (list(tokens), list(jobs), _list(errors), _list(outcomes), _list(delays), _list(costs))
    return Call(text, values, _ended)


def snooze_jobs(
    tokens: Sequence[UUID],
    jobs: Sequence[UUID],
    delays: Sequence[float],
    costs: Sequence[int | None] | None = None,
) -> Call[list[Ended]]:
    text = (
        "select job_id, code, state, run_at from windlass.snooze_jobs("
        "$1::uuid[], $2::uuid[], $3::float8[], $4::bigint[])"
    )
    return Call(text, (list(tokens), list(jobs), list(delays), _list(costs)), _ended)


def release_jobs(tokens: Sequence[UUID], jobs: Sequence[UUID]) -> Call[list[Ended]]:
    text = "select job_id, code, state, run_at from windlass.release_jobs($1::uuid[], $2::uuid[])"
    return Call(text, (list(tokens), list(jobs)), _ended)


def _ended(rows: Sequence[Row]) -> list[Ended]:
    return [Ended._make(row) for row in rows]


def expire_leases(limit: int) -> Call[int]:
    """How many jobs were recovered from expired leases."""
    return Call("select count(*) from windlass.expire_leases($1::int)", (limit,), _count)


def _count(rows: Sequence[Row]) -> int:
    return int(rows[0][0])


def _nothing(_rows: Sequence[Row]) -> None:
    return None


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
