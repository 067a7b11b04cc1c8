"""The verbs of a redrive that runs as a job: one function here for one SQL function, of the same name."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import Columns, read_json, read_uuid
from windlass.model import Page
from windlass.model.redrive import DeadJob, NewRedrive, Preview, Redrive

__all__ = [
    "RedriveTurn",
    "create_redrive",
    "get_redrive",
    "list_redrives",
    "move_redrive",
    "preview_redrive",
    "stop_redrive",
    "tend_redrive",
]

_REDRIVE = Columns(
    Redrive.from_row,
    ids="id tenant_id",
    json="patch refusals",
    plain="state kinds queues error_like died_from died_to named max_attempts throttle stop_rate stop_after"
    " expected actor reason created_at matched redriven refused passed ended died stop_reason ended_at"
    " read_at",
)

_FILTER = (
    "$1::uuid, p_kinds => $2::text[], p_queues => $3::text[], p_error_like => $4::text,"
    " p_died_from => $5::timestamptz, p_died_to => $6::timestamptz, p_jobs => $7::uuid[],"
    " p_everything => $8::boolean, p_patch => $9::text::jsonb"
)


class RedriveTurn(NamedTuple):
    """What is next for a running redrive: its end, a wait, or a slice of jobs to be moved."""

    outcome: str | None
    counts: Mapping[str, Any]
    kind: str | None
    """The kind whose payloads are patched."""
    wait: float
    after: UUID
    upto: UUID | None
    jobs: Sequence[UUID]
    payloads: Sequence[str]
    """The patched payloads of the jobs, as JSON; none without a patch."""


def create_redrive(
    tenant: UUID,
    redrive: NewRedrive,
    *,
    id: UUID,
    expected: int | None,
    reason: str | None,
    actor: str | None,
) -> Call[UUID]:
    text = (
        f"select windlass.create_redrive({_FILTER}, p_max_attempts => $10::int, p_throttle => $11::float8,"
        " p_stop_rate => $12::float8, p_stop_after => $13::int, p_expected => $14::bigint,"
        " p_reason => $15::text, p_actor => $16::text, p_id => $17::uuid)"
    )
    more = (redrive.max_attempts, redrive.throttle, redrive.stop_rate, redrive.stop_after, expected)
    values = (*_filter(tenant, redrive), *more, reason, actor, id)
    return Call(text, values, lambda rows: read_uuid(rows[0][0]))


def preview_redrive(tenant: UUID, redrive: NewRedrive, *, sample: int, after: UUID | None) -> Call[Preview]:
    """One page of the count; `after` is the cursor of the page before."""
    text = (
        f"select matched, cursor, sample::text from windlass.preview_redrive({_FILTER},"  # noqa: S608
        " p_sample => $10::int, p_after => $11::uuid)"
    )
    return Call(text, (*_filter(tenant, redrive), sample, after), _preview)


def _filter(tenant: UUID, redrive: NewRedrive) -> tuple[Any, ...]:
    return (
        tenant,
        _list(redrive.kinds),
        _list(redrive.queues),
        redrive.error_like,
        redrive.died_from,
        redrive.died_to,
        _list(redrive.jobs),
        redrive.everything,
        redrive.patch_json(),
    )


def _preview(rows: Sequence[Row]) -> Preview:
    matched, cursor, sample = rows[0]
    jobs = tuple(DeadJob.from_json(document) for document in read_json(sample))
    return Preview(matched=matched, sample=jobs, cursor=None if cursor is None else read_uuid(cursor))


def get_redrive(tenant: UUID, job_id: UUID) -> Call[Redrive]:
    text = _REDRIVE.select("windlass.get_redrive($1::uuid, $2::uuid)")
    return Call(text, (tenant, job_id), _REDRIVE.read_one)


def list_redrives(tenant: UUID, limit: int, before: UUID | None) -> Call[Page[Redrive]]:
    """Newest first; the cursor is the id of the last of a page."""
    text = _REDRIVE.select(
        "windlass.list_redrives($1::uuid, p_limit => $2::int, p_before => $3::uuid) order by id desc"
    )
    return Call(text, (tenant, limit, before), lambda rows: _page(rows, limit))


def _page(rows: Sequence[Row], limit: int) -> Page[Redrive]:
    found = tuple(_REDRIVE.read_all(rows))
    return Page(found, str(found[-1].id) if len(found) >= limit else None)


def stop_redrive(tenant: UUID, job_id: UUID, reason: str | None, actor: str | None) -> Call[str]:
    """The outcome: `stopped`, or that of a redrive which had ended already."""
    text = "select windlass.stop_redrive($1::uuid, $2::uuid, p_reason => $3::text, p_actor => $4::text)"
    return Call(text, (tenant, job_id, reason, actor), lambda rows: str(rows[0][0]))


_COUNTS = ("matched", "redriven", "refused", "passed", "ended", "died")


def tend_redrive(token: UUID, job_id: UUID) -> Call[RedriveTurn]:
    text = (
        f"select outcome, stop_reason, {', '.join(_COUNTS)}, kind, wait, after, upto, jobs, payloads"  # noqa: S608
        " from windlass.tend_redrive($1::uuid, $2::uuid)"
    )
    return Call(text, (token, job_id), _turn)


def _turn(rows: Sequence[Row]) -> RedriveTurn:
    outcome, stop_reason, *rest = rows[0]
    counts = dict(zip(_COUNTS, rest, strict=False))
    told = {"outcome": outcome, "stop_reason": stop_reason, **counts}
    return RedriveTurn(outcome, told, *rest[len(_COUNTS) :])


def move_redrive(
    token: UUID,
    job_id: UUID,
    turn: RedriveTurn,
    jobs: Sequence[UUID],
    refused: Mapping[UUID, str],
    keys: Sequence[str | None] | None,
    key_limit: int | None,
) -> Call[int]:
    """Revive these jobs of a slice; `refused` are the others, each with the reason.

    `keys` are the concurrency keys that the jobs have from now on, None where these stay as they are.
    """
    text = (
        "select windlass.move_redrive($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid[], $6::uuid[],"
        " $7::text[], p_keys => $8::text[], p_key_limit => $9::int)"
    )
    slice_ = (turn.after, turn.upto, list(jobs), list(refused), list(refused.values()))
    values = (token, job_id, *slice_, _list(keys), key_limit)
    return Call(text, values, lambda rows: int(rows[0][0]))


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
