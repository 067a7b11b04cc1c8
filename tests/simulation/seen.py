"""A job as the outside sees it: what the core says of it, and what PostgreSQL does."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.simulation.core import Core
from tests.simulation.sqlwords import at_ms, node_uuid
from tests.simulation.values import TERMINAL, Job

__all__ = ["core_row", "real_rows"]

_JOBS = """
select id, queue, kind, state, priority, payload, result, error ->> 'type' as error, run_at, created_at,
       started_at, finished_at, version, counted, max_attempts, cancel_requested, ended_reason, cost_cents,
       lease_expires_at, node_id
from windlass._describe_jobs(%s, %s::uuid[])
"""


def real_rows(superuser: Connection[Any], tenant: UUID, ids: Sequence[UUID]) -> dict[UUID, tuple[Any, ...]]:
    """Asked as get_job asks, but for many jobs of a tenant at once."""
    return {
        row.id: (*row[1:8], *map(at_ms, row[8:12]), *row[12:18], at_ms(row.lease_expires_at), row.node_id)
        for row in superuser.execute(_JOBS, [tenant, ids])
    }


def core_row(core: Core, job: Job) -> tuple[Any, ...]:
    state = core.state(job)
    last = job.attempts[-1] if job.attempts else None
    held = None if state != "running" else core.lease_on(job)
    result = last.result if last and state in ("succeeded", "skipped") else None
    due = core.scheduled.get(job.id, job.created_at if job.run_at is None else job.run_at)
    started = held.claimed_at if held else last.started_at if last else None
    finished = None if state not in TERMINAL else job.ended_at if job.ended else last and last.finished_at
    counted = (last.counted if last else 0) if state in TERMINAL else job.counted
    said = result.get("reason") if state == "skipped" and isinstance(result, dict) else None
    own = last.error.get("message") if last and not job.ended and isinstance(last.error, dict) else None
    asked = (job.reasons[0] if job.reasons else own) if state == "canceled" else None
    return (
        *(job.queue, job.kind, state, job.priority, job.payload, result, last.error if last else None),
        *(due, job.created_at, started, finished, job.version, counted, job.max_attempts),
        *(state == "running" and job.cancel_requested, job.ended_reason or said or asked or None, job.cost),
        *((held.expires_at, node_uuid(held.node)) if held else (None, None)),
    )
