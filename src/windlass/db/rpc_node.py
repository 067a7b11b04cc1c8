"""The verbs of a node: one function here for one SQL function, of the same name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import NamedTuple, TypeVar
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.wire import Ids

__all__ = [
    "Maintained",
    "Pruned",
    "begin_jobs",
    "heartbeat_node",
    "maintain",
    "prune_jobs",
    "stop_node",
    "undurable",
]

T = TypeVar("T")


class Maintained(NamedTuple):
    """What one round of maintenance did; `ran` is False where another node was at it."""

    ran: bool
    made: list[date]
    missing: list[date]


class Pruned(NamedTuple):
    """What one bounded piece of pruning did; `more` says that there is more to do now."""

    dropped: list[date]
    busy: list[date]
    removed: int
    more: bool


def undurable(call: Call[T]) -> Call[T]:
    """The same call, whose commit does not wait for the disk.

    For claims only.  A claim that a crash of the server undoes merely returns its jobs, and every later
    word about them is durable and carries the claim before it to the disk.  But the next claim then gives
    out the same lease version again, so this is not for handlers that fence their own writes by it.
    Set for the transaction, in the same statement, so that it costs no round trip and stays on no session.
    """
    text = f"{call.text} cross join (select set_config('synchronous_commit', 'off', true)) as undurable"
    return replace(call, text=text)


def begin_jobs(
    tokens: Sequence[bytes], jobs: Sequence[bytes], called: Sequence[bool]
) -> Call[set[tuple[bytes, bytes]]]:
    """Say which handlers are about to be called and which were; the refused words, as token and job.

    Its commit does not wait for the disk (see `undurable`, which needs rows): a word
    that a crash of the server undoes only makes the job run again.
    """
    text = (
        "select b.token, b.job_id from (select set_config('synchronous_commit', 'off', true)) as undurable"
        " left join windlass.begin_jobs($1::uuid[], $2::uuid[], $3::boolean[]) as b on true"
    )
    return Call(text, (Ids(tokens), Ids(jobs), list(called)), _pairs, hot=True, raw=True)


def _pairs(rows: Sequence[Row]) -> set[tuple[bytes, bytes]]:
    return {(token, job_id) for token, job_id in rows if job_id is not None}


def heartbeat_node(
    node_id: UUID,
    name: str,
    *,
    host: str,
    pid: int,
    version: str,
    queues: Sequence[str],
    kinds: Sequence[str],
    concurrency: int,
) -> Call[bool]:
    """A sign of life; False tells the node that the others did not count it as active until now."""
    text = (
        "select windlass.heartbeat_node("
        "$1::uuid, $2::text, $3::text, $4::int, $5::text, $6::text[], $7::text[], $8::int)"
    )
    values = (node_id, name, host, pid, version, list(queues), list(kinds), concurrency)
    return Call(text, values, _truth)


def stop_node(node_id: UUID) -> Call[bool]:
    """The node is active no longer; its leases are not touched."""
    return Call("select windlass.stop_node($1::uuid)", (node_id,), _truth)


def maintain(days_ahead: int = 3) -> Call[Maintained]:
    """Make the tables of the days ahead, and remove what has run out."""
    text = "select ran, made, missing from windlass.maintain($1::int)"
    return Call(text, (days_ahead,), lambda rows: Maintained._make(rows[0]))


def prune_jobs(keep_days: Mapping[str, float], limit: int = 5000) -> Call[Pruned]:
    """Remove finished jobs older than `keep_days` of their state; a state left out is kept for ever."""
    text = (
        "select dropped, busy, removed, more from windlass.prune_jobs("
        "$1::interval, $2::interval, $3::interval, $4::interval, $5::int)"
    )
    keeps = [keep_days.get(state) for state in ("succeeded", "canceled", "skipped", "dead")]
    values = (*(None if days is None else timedelta(days=days) for days in keeps), limit)
    return Call(text, values, lambda rows: Pruned._make(rows[0]))


def _truth(rows: Sequence[Row]) -> bool:
    return bool(rows[0][0])
