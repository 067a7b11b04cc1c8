"""How jobs get in: one function here for one SQL function, and one that puts lone jobs together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import read_uuid
from windlass.model import NewJob

__all__ = [
    "EnqueueCall",
    "Enqueued",
    "Lane",
    "enqueue_job",
    "enqueue_jobs",
    "enqueue_many",
    "enqueue_together",
]


class Enqueued(NamedTuple):
    """The job behind an enqueue; not `created` means that it was there before."""

    job_id: UUID
    created: bool


Lane: TypeAlias = tuple[UUID, str, str, int, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueCall(Call[Enqueued]):
    """An enqueue of one job, which can also go together with others: `enqueue_together`."""

    job: NewJob
    payload: str
    lane: Lane
    """Tenant, queue, kind and priority, and in whose name."""
    alone: bool
    """Not together with others, because it may have to wait for somebody's open transaction."""


def enqueue_together(calls: Sequence[EnqueueCall]) -> Call[list[Enqueued]]:
    """One call for several jobs of one tenant; the answers come in the same order."""
    tenant, actor, shared = calls[0].lane[0], calls[0].lane[-1], calls[0].job.shared
    ids = [call.job.id for call in calls if call.job.id is not None and call.job.shared == shared]
    if len(ids) < len(calls):
        return enqueue_jobs(tenant, [call.job.to_json(call.payload) for call in calls], actor)
    payloads = f"[{','.join([call.payload for call in calls])}]"
    alike = enqueue_many(tenant, calls[0].job.shared_json(), payloads, ids, actor)

    def read(rows: Sequence[Row]) -> list[Enqueued]:
        there = {row[0] for row in rows}
        return [Enqueued(job_id, place not in there) for place, job_id in enumerate(ids, start=1)]

    return Call(alike.text, alike.values, read, hot=True)


def enqueue_job(
    tenant: UUID, job: NewJob, payload: str, *, actor: str | None = None, alone: bool = True
) -> EnqueueCall:
    """`payload` is the job's payload as JSON text."""
    text = (
        "select job_id, created from windlass.enqueue_job($1::uuid, $2::text, $3::text::jsonb, $4::text,"
        " $5::int, $6::timestamptz, $7::text, $8::text, $9::int, $10::text::jsonb, $11::int, $12::text,"
        " $13::text, $14::uuid, $15::text, $16::int, $17::text)"
    )
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
        job.concurrency_key,
        job.concurrency_limit,
        actor,
    )
    lane = (tenant, job.queue, job.kind, job.priority, actor)
    return EnqueueCall(
        text, values, _first_enqueued, hot=True, job=job, payload=payload, lane=lane, alone=alone
    )


def enqueue_jobs(tenant: UUID, jobs: Sequence[str], actor: str | None = None) -> Call[list[Enqueued]]:
    """`jobs` are JSON objects, as `NewJob.to_json` makes them; the answers come in the same order."""
    text = (
        "select job_id, created from windlass.enqueue_jobs($1::uuid, $2::text::jsonb, false, $3::text)"
        " order by ordinal"
    )
    return Call(text, (tenant, f"[{','.join(jobs)}]", actor), _enqueued, hot=True)


def _enqueued(rows: Sequence[Row]) -> list[Enqueued]:
    return [Enqueued(read_uuid(job_id), created) for job_id, created in rows]


def _first_enqueued(rows: Sequence[Row]) -> Enqueued:
    return _enqueued(rows)[0]


def enqueue_many(
    tenant: UUID, shared: str, payloads: str, ids: Sequence[UUID], actor: str | None = None
) -> Call[list[int]]:
    """`shared` and `payloads` are JSON, of `NewJob.shared_json` and as an array.

    What comes back are the places, from 1, of jobs that were there already.
    """
    text = (
        "select place from windlass.enqueue_many($1::uuid, $2::text::jsonb, $3::text::jsonb,"
        " $4::text::uuid[], $5::text) as place"
    )
    # Drivers write an array item by item in Python; as text it is a fraction of that.
    values = (tenant, shared, payloads, f"{{{','.join([one.hex for one in ids])}}}", actor)
    return Call(text, values, lambda rows: [row[0] for row in rows])
