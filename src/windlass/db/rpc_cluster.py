"""The verbs of a cluster: one function here for one SQL function, of the same name."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import Columns, read_json, read_uuid
from windlass.model import ClaimedJob, NewJob, RetryPolicy
from windlass.model.cluster import CLUSTER_QUEUE, ClusterJob, Leader, NewClusterJob, Part, Standing

__all__ = [
    "Begun",
    "Created",
    "PartWord",
    "begin_action",
    "claim_parts",
    "create_cluster_job",
    "drain_node",
    "end_parts",
    "get_cluster_job",
    "get_leader",
    "renew_parts",
    "tend_cluster",
]


class Created(NamedTuple):
    """The job, whether it is new, and how many parts it has and needs."""

    job_id: UUID
    created: bool
    parts: int | None
    needed: int | None


class PartWord(NamedTuple):
    """What is said about one running part; `result` and `error` are JSON texts."""

    token: UUID
    job_id: UUID
    outcome: str
    result: str | None = None
    error: str | None = None
    delay: float | None = None


class Begun(NamedTuple):
    """The leader's action as it begins."""

    term: int
    needed: int
    verdict: str
    warning: str | None
    parts: tuple[Part, ...]


def _cluster_job(row: Mapping[str, Any]) -> ClusterJob:
    return ClusterJob.from_row({**row, "parts": _parts(row["parts"])})


def _parts(documents: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    return tuple(Part.from_json(document) for document in documents)


_STANDING = Columns(
    Standing.from_row,
    ids="leader_id",
    plain="leader_name leader_address term leads draining parts leader_seconds busy",
)
_LEADER = Columns(Leader.from_row, ids="node_id", plain="name address term since expires_at")
_CLUSTER_JOB = Columns(
    _cluster_job,
    ids="job_id",
    json="parts",
    plain="term needed on_timeout on_crash deadline_at settled_at verdict warning action_term ended_at",
    computed={"quorum_timeout": "quorum_timeout_ms / 1000.0::float8"},
)


def tend_cluster(
    node_id: UUID,
    *,
    address: str | None,
    kinds: Sequence[str],
    local_kinds: Sequence[str],
    lease_seconds: float,
    stand: bool,
) -> Call[Standing | None]:
    """A node's turn; None while the database does not know the node, or knows that it stopped."""
    text = _STANDING.select(
        "windlass.tend_cluster($1::uuid, $2::text, $3::text[], $4::float8, $5::boolean, $6::text[])"
    )
    values = (node_id, address, list(kinds), lease_seconds, stand, list(local_kinds))
    return Call(text, values, lambda rows: _STANDING.read_one(rows) if rows else None)


def get_leader() -> Call[Leader | None]:
    """Who leads now, if anybody does."""
    text = _LEADER.select("windlass.get_leader()")
    return Call(text, (), lambda rows: _LEADER.read_one(rows) if rows else None)


def create_cluster_job(
    tenant: UUID,
    new: NewClusterJob,
    job: NewJob,
    payload: str,
    leader: Leader | None,
    actor: str | None = None,
) -> Call[Created]:
    """In the name of `leader`; `job` is that of `new` as it is sent, `payload` its payload as JSON text."""
    text = (
        "select job_id, created, parts, needed from windlass.create_cluster_job("
        "$1::uuid, $2::text, $3::text::jsonb, p_leader => $4::uuid, p_term => $5::bigint,"
        " p_local => $6::boolean, p_quorum => $7::text, p_quorum_timeout_ms => $8::int,"
        " p_on_timeout => $9::text, p_on_crash => $10::text, p_key => $11::text, p_scope => $12::text,"
        " p_priority => $13::int, p_max_attempts => $14::int, p_retry => $15::text::jsonb,"
        " p_timeout_ms => $16::int, p_part_max_attempts => $17::int, p_part_retry => $18::text::jsonb,"
        " p_trace_id => $19::text, p_correlation_id => $20::text, p_id => $21::uuid, p_actor => $22::text)"
    )
    parts = new.part_retry or RetryPolicy()
    values = (
        tenant,
        job.kind,
        payload,
        None if leader is None else leader.node_id,
        None if leader is None else leader.term,
        new.local,
        new.quorum,
        new.quorum_timeout_ms,
        new.on_timeout,
        new.on_crash,
        job.key,
        job.scope,
        job.priority,
        job.attempts,
        _policy(job.retry),
        job.timeout_ms,
        parts.max_attempts,
        _policy(new.part_retry),
        job.trace_id,
        job.correlation_id,
        job.id,
        actor,
    )
    return Call(text, values, lambda rows: Created(read_uuid(rows[0][0]), *rows[0][1:]))


def _policy(retry: RetryPolicy | None) -> str | None:
    return None if retry is None else json.dumps(retry.to_json())


def get_cluster_job(tenant: UUID, job_id: UUID) -> Call[ClusterJob]:
    text = _CLUSTER_JOB.select("windlass.get_cluster_job($1::uuid, $2::uuid)")
    return Call(text, (tenant, job_id), _CLUSTER_JOB.read_one)


def begin_action(token: UUID, job_id: UUID) -> Call[Begun]:
    """The leader's action begins; LeaseLost or NotLeader if it must not."""
    text = "select term, needed, verdict, warning, parts::text from windlass.begin_action($1::uuid, $2::uuid)"
    return Call(text, (token, job_id), _begun)


def _begun(rows: Sequence[Row]) -> Begun:
    term, needed, verdict, warning, parts = rows[0]
    return Begun(term, needed, verdict, warning, _parts(read_json(parts)))


def claim_parts(
    node_id: UUID, kinds: Sequence[str], limit: int, lease_seconds: float
) -> Call[list[ClaimedJob]]:
    """The parts that wait for this node, each as the job of which it is a part."""
    text = (
        "select job_id, tenant_id, kind, payload, token, version, counted, max_attempts, expires_at,"
        " trace_id, correlation_id, created_at"
        " from windlass.claim_parts($1::uuid, $2::text[], $3::int, $4::float8)"
    )
    return Call(text, (node_id, list(kinds), limit, lease_seconds), _claimed)


def _claimed(rows: Sequence[Row]) -> list[ClaimedJob]:
    claimed: list[ClaimedJob] = []
    for job_id, tenant_id, kind, payload, *rest in rows:
        values: list[Any] = [job_id, tenant_id, CLUSTER_QUEUE, kind, 0, payload, *rest, None]
        claimed.append(ClaimedJob(*values))
    return claimed


def renew_parts(tokens: Sequence[UUID], lease_seconds: float) -> Call[list[UUID]]:
    """The tokens that are lost."""
    text = "select token from windlass.renew_parts($1::uuid[], $2::float8)"
    return Call(text, (list(tokens), lease_seconds), lambda rows: [row[0] for row in rows])


def end_parts(words: Sequence[PartWord]) -> Call[dict[UUID, tuple[str, str | None]]]:
    """For each job of these, a code (`ok` or `lease_lost`) and the state that the part then has."""
    text = (
        "select job_id, code, state from windlass.end_parts($1::uuid[], $2::uuid[], $3::text[],"
        " $4::text[]::jsonb[], $5::text[]::jsonb[], $6::float8[])"
    )
    values = tuple([word[place] for word in words] for place in range(6))
    return Call(text, values, lambda rows: {row[0]: (row[1], row[2]) for row in rows})


def drain_node(node: str, reason: str | None, actor: str | None) -> Call[list[UUID]]:
    text = "select node_id from windlass.drain_node($1::text, $2::text, $3::text)"
    return Call(text, (node, reason, actor), lambda rows: [read_uuid(row[0]) for row in rows])
