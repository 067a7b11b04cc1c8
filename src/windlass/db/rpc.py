"""The verbs of a worker: one function here for one SQL function, of the same name.

Columns are named, never `*`: a function may gain columns without breaking the statements that a
running process has prepared.  JSON travels as text, written and read by us, so that every driver
treats it alike.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.wire import Ids, Texts
from windlass.model import ClaimedJob

__all__ = [
    "Claimed",
    "Ended",
    "Heard",
    "Known",
    "OpenLane",
    "Refused",
    "Survey",
    "claim_jobs",
    "complete_jobs",
    "expire_leases",
    "fail_jobs",
    "finish_job",
    "release_jobs",
    "renew_leases",
    "retire_lanes",
    "snooze_jobs",
    "survey_lanes",
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
    " expires_at, trace_id, correlation_id, created_at, timeout_ms / 1000.0::float8, lane_id, seq"
    " from windlass.claim_jobs($1::uuid, $2::text[], $3::text[], $4::int, $5::float8, $6::boolean,"
    " $7::int[], $8::bigint[], $9::boolean, $10::timestamptz, true, true)"
)


class Claimed(list[ClaimedJob]):
    """The jobs of one claim."""

    again_seconds: float | None = None
    """Where a rate holds jobs back: when it will let the next one start."""


class Known(NamedTuple):
    """What a claim need not look at: lanes with the places up to which there is nothing in them."""

    lanes: Sequence[int] = ()
    marks: Sequence[int] = ()
    only: bool = False
    """Look at no other lanes."""
    since: datetime | None = None
    """What was due or had expired before then was seen to."""


def claim_jobs(
    node_id: UUID,
    queues: Sequence[str],
    kinds: Sequence[str] | None,
    limit: int,
    lease_seconds: float,
    *,
    wait: bool | None = False,
    known: Known | None = None,
) -> Call[Claimed]:
    """Take up to `limit` jobs.

    With `wait` a claim that finds little asks to be woken; any other takes that back, but for `wait=None`.
    """
    lanes, marks, only, since = known or Known()
    values = (
        node_id,
        list(queues),
        None if kinds is None else list(kinds),
        limit,
        lease_seconds,
        wait,
        list(lanes),
        list(marks),
        only,
        since,
    )
    return Call(_CLAIM, values, _claimed, hot=True, raw=True)


def _claimed(rows: Sequence[Row]) -> Claimed:
    again = None
    if rows and rows[-1][0] is None:
        again = rows[-1][-1] / 1_000_000
        rows = rows[:-1]
    if rows and not isinstance(rows[0][0], bytes):  # a driver that read them in its own way
        jobs = Claimed(ClaimedJob(*row) for row in rows)
    else:
        jobs = Claimed(map(ClaimedJob._make, rows))
    jobs.again_seconds = again
    return jobs


class OpenLane(NamedTuple):
    """A lane that a worker may claim from; `head` is the first place in it, if it was not known before."""

    lane_id: int
    flow: str
    priority: int
    weight: int
    one_line: bool
    head: int | None


class Survey(NamedTuple):
    """What `windlass.survey_lanes` saw, and where it stood among transactions."""

    lanes: list[OpenLane]
    heads: dict[int, int]
    """Of the known lanes, where something is in line behind the mark."""
    seen_from: int
    """All transactions before this one have ended."""
    number: int
    """Its own."""
    seen_at: datetime
    due_from: datetime | None


_SURVEY = (
    "select lane_id, flow, priority, weight, one_line, head, seen_from, number, seen_at, due_from"
    " from windlass.survey_lanes($1::uuid, $2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[],"
    " $7::timestamptz, $8::boolean)"
)


def survey_lanes(
    node_id: UUID,
    queues: Sequence[str],
    kinds: Sequence[str] | None,
    known: Sequence[tuple[int, int, int | None]],
    *,
    since: datetime | None,
    describe: bool,
) -> Call[Survey]:
    """Look at the lanes; `known` has the id, floor and mark of those that the caller knows."""
    lanes, floors, marks = ([*column] for column in zip(*known, strict=True)) if known else ([], [], [])
    names = None if kinds is None else list(kinds)
    values = (node_id, list(queues), names, lanes, floors, marks, since, describe)
    return Call(_SURVEY, values, _surveyed, hot=True)


def _surveyed(rows: Sequence[Row]) -> Survey:
    lanes = [OpenLane._make(row[:6]) for row in rows if row[1] is not None]
    heads = {row[0]: row[5] for row in rows[1:] if row[1] is None}
    return Survey(lanes, heads, *rows[0][6:])


def renew_leases(tokens: Sequence[bytes], lease_seconds: float) -> Call[list[Heard]]:
    text = "select token, job_id, code from windlass.renew_leases($1::uuid[], $2::float8)"
    return Call(text, (Ids(tokens), lease_seconds), _heard)


def _heard(rows: Sequence[Row]) -> list[Heard]:
    return [Heard._make(row) for row in rows]


def complete_jobs(
    tokens: Sequence[bytes],
    jobs: Sequence[bytes],
    results: Sequence[str | None] | None = None,
    costs: Sequence[int | None] | None = None,
    states: Sequence[str] | None = None,
    tenants: Sequence[bytes] | None = None,
) -> Call[list[Refused]]:
    """`results` are JSON texts; `tenants` only when the same words were said before without an answer."""
    text = (
        "select job_id, code from windlass.complete_jobs("
        "$1::uuid[], $2::uuid[], $3::text[]::jsonb[], $4::bigint[], $5::text[], $6::uuid[])"
    )
    values = (
        Ids(tokens),
        Ids(jobs),
        None if results is None else Texts(results),
        _list(costs),
        None if states is None else Texts(states),
        None if tenants is None else Ids(tenants),
    )
    return Call(text, values, _refused, hot=True)


def _refused(rows: Sequence[Row]) -> list[Refused]:
    return [Refused._make(row) for row in rows]


def finish_job(token: UUID, job_id: UUID, result: str | None, cost: int | None = None) -> Call[None]:
    """For the caller's own transaction; a lost lease raises there."""
    text = "select windlass.finish_job($1::uuid, $2::uuid, $3::text::jsonb, $4::bigint)"
    return Call(text, (token, job_id, result, cost), _nothing)


def fail_jobs(
    tokens: Sequence[bytes],
    jobs: Sequence[bytes],
    errors: Sequence[str | None] | None = None,
    outcomes: Sequence[str] | None = None,
    delays: Sequence[float | None] | None = None,
    costs: Sequence[int | None] | None = None,
) -> Call[list[Ended]]:
    text = (
        "select job_id, code, state, run_at from windlass.fail_jobs("
        "$1::uuid[], $2::uuid[], $3::text[]::jsonb[], $4::text[], $5::float8[], $6::bigint[])"
    )
    values = (
        Ids(tokens),
        Ids(jobs),
        None if errors is None else Texts(errors),
        None if outcomes is None else Texts(outcomes),
        _list(delays),
        _list(costs),
    )
    return Call(text, values, _ended, hot=True)


def snooze_jobs(
    tokens: Sequence[bytes],
    jobs: Sequence[bytes],
    delays: Sequence[float],
    costs: Sequence[int | None] | None = None,
) -> Call[list[Ended]]:
    text = (
        "select job_id, code, state, run_at from windlass.snooze_jobs("
        "$1::uuid[], $2::uuid[], $3::float8[], $4::bigint[])"
    )
    return Call(text, (Ids(tokens), Ids(jobs), list(delays), _list(costs)), _ended, hot=True)


def release_jobs(tokens: Sequence[bytes], jobs: Sequence[bytes]) -> Call[list[Ended]]:
    text = "select job_id, code, state, run_at from windlass.release_jobs($1::uuid[], $2::uuid[])"
    return Call(text, (Ids(tokens), Ids(jobs)), _ended, hot=True)


def _ended(rows: Sequence[Row]) -> list[Ended]:
    return [Ended._make(row) for row in rows]


def expire_leases(limit: int, within: timedelta | None = None) -> Call[int]:
    """How many jobs were recovered from expired leases; `within`: that ran out so long ago or less."""
    text = "select count(*) from windlass.expire_leases($1::int, $2::interval)"
    return Call(text, (limit, within), _count)


def retire_lanes(limit: int, idle: timedelta | None = None) -> Call[int]:
    """How many empty lanes went from the list that claims look at; `idle`: of tenants that rested so long."""
    return Call("select windlass.retire_lanes($1::int, $2::interval)", (limit, idle), _count)


def _count(rows: Sequence[Row]) -> int:
    return int(rows[0][0])


def _nothing(_rows: Sequence[Row]) -> None:
    return None


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
