"""The same words in SQL: how each is said to PostgreSQL, and what its rows mean in the core's terms.

Tokens are named by the core's numbers: `pg_temp.tokens` says which of the database's own they are.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tests.simulation.words import (
    Begin,
    Cancel,
    Claim,
    ClearGate,
    Complete,
    End,
    Enqueue,
    Expire,
    Finish,
    Redrive,
    Renew,
    Reschedule,
    SetGate,
    Word,
)
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT

__all__ = ["TENANTS", "Spoken", "at_ms", "job_number", "job_uuid", "moment", "node_uuid", "speak"]

STARTED = datetime(2030, 1, 1, tzinfo=UTC)
TENANTS = {1: DEFAULT_TENANT, 2: OTHER_TENANT}
_MS = timedelta(milliseconds=1)


def moment(at: int | None) -> datetime | None:
    return None if at is None else STARTED + at * _MS


def at_ms(when: datetime | str | None) -> int | None:
    """Rows that come as JSON have it as a text."""
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    return None if when is None else round((when - STARTED) / _MS)


def job_uuid(number: int) -> UUID:
    return UUID(f"01900000-0000-7000-8000-{number:012x}")


def job_number(job_id: UUID | str) -> int:
    return int(str(job_id)[-12:], 16)


def node_uuid(node: str) -> UUID:
    number, life = node.split("-")
    return UUID(f"00000000-0000-7000-9000-{int(number):04x}{int(life):08x}")


Tokens = Mapping[str, int]


class Spoken(NamedTuple):
    """The columns asked for, the call with its parameters, and how to read the rows that come."""

    columns: str
    call: str
    parameters: Sequence[Any]
    read: Callable[[list[Any], Tokens], Any]

    @property
    def text(self) -> str:
        return (
            f"select coalesce(jsonb_agg(jsonb_build_array({self.columns})), '[]') from windlass.{self.call}"
        )


def speak(word: Word) -> Spoken:
    return _SAYINGS[type(word)](word)


def _enqueue(word: Enqueue) -> Spoken:
    base, factor, cap = word.retry
    retry = {"base": base / 1000, "factor": factor, "cap": cap and cap / 1000, "jitter": "none"}
    given = {
        "p_tenant": TENANTS[word.tenant],
        "p_id": job_uuid(word.id),
        "p_kind": word.kind,
        "p_payload": json.dumps(word.payload),
        "p_queue": word.queue,
        "p_priority": word.priority,
        "p_run_at": moment(word.run_at),
        "p_key": word.key,
        "p_scope": word.scope,
        "p_max_attempts": word.max_attempts,
        "p_retry": json.dumps(retry),
    }
    call = f"enqueue_job({', '.join(f'{name} => %s' for name in given)})"
    return Spoken(
        "job_id, created", call, [*given.values()], lambda rows, _: (job_number(rows[0][0]), rows[0][1])
    )


def _claim(word: Claim) -> Spoken:
    def read(rows: list[Any], tokens: Tokens) -> Any:
        return [(job_number(r[0]), tokens.get(r[1]), *r[2:6], at_ms(r[6])) for r in rows]

    kinds = None if word.kinds is None else list(word.kinds)
    return Spoken(
        "job_id, token, version, counted, payload, priority, expires_at",
        "claim_jobs(%s, %s::text[], %s::text[], %s, %s, p_begins => %s)",
        [node_uuid(word.node), [word.queue], kinds, word.limit, word.lease / 1000, word.begins],
        read,
    )


def _begin(word: Begin) -> Spoken:
    return Spoken(
        "job_id, code",
        "begin_jobs(pg_temp.tokens(%s::integer[]), %s::uuid[], %s::boolean[])",
        [*_pairs(word.words), list(word.called)],
        lambda rows, _: [(job_number(r[0]), r[1]) for r in rows],
    )


def _renew(word: Renew) -> Spoken:
    def read(rows: list[Any], tokens: Tokens) -> Any:
        told = [(tokens.get(r[0]), None if r[1] is None else job_number(r[1]), r[2]) for r in rows]
        return sorted(told, key=str)

    call = "renew_leases(pg_temp.tokens(%s::integer[]), %s)"
    return Spoken("token, job_id, code", call, [list(word.tokens), word.lease / 1000], read)


def _complete(word: Complete) -> Spoken:
    tenants = None if word.tenants is None else [TENANTS[tenant] for tenant in word.tenants]
    results = [json.dumps(result) for result in word.results]
    return Spoken(
        "job_id, code",
        "complete_jobs(pg_temp.tokens(%s::integer[]), %s::uuid[], %s::text[]::jsonb[], null, %s::text[], "
        "%s::uuid[])",
        [*_pairs(word.words), results, list(word.states), tenants],
        lambda rows, _: [(job_number(r[0]), r[1]) for r in rows],
    )


def _pairs(words: Sequence[tuple[int, int]]) -> list[list[Any]]:
    return [[token for token, _ in words], [job_uuid(job) for _, job in words]]


def _finish(word: Finish) -> Spoken:
    call = "finish_job((pg_temp.tokens(array[%s::integer]))[1], %s, %s)"
    parameters = [word.token, job_uuid(word.job), json.dumps(word.result)]
    return Spoken("null", call, parameters, lambda *_: None)


def _end(word: End) -> Spoken:
    parameters: list[Any] = _pairs([(said.token, said.job) for said in word.words])
    delays = [None if said.delay is None else said.delay / 1000 for said in word.words]
    more = ""
    if word.verb == "fail":
        more = ", %s::text[]::jsonb[], %s::text[], %s::float8[]"
        errors = [json.dumps({"type": said.error}) for said in word.words]
        parameters += [errors, [said.outcome for said in word.words], delays]
    elif word.verb == "snooze":
        more = ", %s::float8[]"
        parameters += [delays]
    call = f"{word.verb}_jobs(pg_temp.tokens(%s::integer[]), %s::uuid[]{more})"

    def read(rows: list[Any], _: Tokens) -> Any:
        return [(job_number(r[0]), r[1], r[2], at_ms(r[3])) for r in rows]

    return Spoken("job_id, code, state, run_at", call, parameters, read)


def _expire(_: Expire) -> Spoken:
    return Spoken(
        "job_id, state", "expire_leases()", [], lambda rows, _: [(job_number(r[0]), r[1]) for r in rows]
    )


def _cancel(word: Cancel) -> Spoken:
    parameters = [TENANTS[word.tenant], job_uuid(word.job), word.reason]
    return Spoken("state", "cancel_job(%s, %s, %s) as state", parameters, lambda rows, _: rows[0][0])


def _reschedule(word: Reschedule) -> Spoken:
    parameters = [TENANTS[word.tenant], job_uuid(word.job), moment(word.run_at), word.priority]
    call = "reschedule_job(%s, %s, %s::timestamptz, %s) as at"
    return Spoken("at", call, parameters, lambda rows, _: at_ms(rows[0][0]))


def _redrive(word: Redrive) -> Spoken:
    parameters = [TENANTS[word.tenant], [job_uuid(word.job)], word.max_attempts]
    call = "redrive_jobs(%s, %s::uuid[], p_max_attempts => %s)"
    return Spoken("job_id", call, parameters, lambda rows, _: job_number(rows[0][0]))


def _set_gate(word: SetGate) -> Spoken:
    call = "set_gate(%s, %s, %s, %s, p_expires_at => %s::timestamptz, p_release => %s, p_everything => %s)"
    everything = all(part is None for part in word[:4])
    parameters = [*_scope(word), moment(word.until), word.releases, everything]
    return Spoken("null", call, parameters, lambda *_: None)


def _clear_gate(word: ClearGate) -> Spoken:
    return Spoken("null", "clear_gate(null, %s, %s, %s, %s)", _scope(word), lambda *_: None)


def _scope(word: SetGate | ClearGate) -> list[Any]:
    tenant = None if word.tenant is None else TENANTS[word.tenant]
    return [tenant, word.queue, word.kind, None if word.node is None else str(node_uuid(word.node))]


_SAYINGS: dict[type, Callable[[Any], Spoken]] = {
    Enqueue: _enqueue,
    Begin: _begin,
    Claim: _claim,
    Renew: _renew,
    Complete: _complete,
    Finish: _finish,
    End: _end,
    Expire: _expire,
    Cancel: _cancel,
    Reschedule: _reschedule,
    Redrive: _redrive,
    SetGate: _set_gate,
    ClearGate: _clear_gate,
}
