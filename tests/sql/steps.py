"""The steps of a job's life as tests take them: each is one call of a SQL function on one connection."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
NODE = UUID("00000000-0000-7000-8000-0000000000aa")
UNKNOWN = UUID("00000000-0000-7000-8000-00000000dead")
OTHER_TENANT = UUID("00000000-0000-7000-8000-000000000002")


class Held(Protocol):
    """A job with the token it is held by; a row of `claim_jobs` is one."""

    @property
    def token(self) -> UUID: ...

    @property
    def job_id(self) -> UUID: ...


@dataclass(frozen=True)
class Word:
    """A token and a job put together by hand, to say what no claim allowed."""

    token: UUID
    job_id: UUID


class Session:
    """The SQL functions as one caller uses them, for one tenant and one node."""

    def __init__(self, conn: Connection[Any], tenant: UUID = DEFAULT_TENANT, node: UUID = NODE) -> None:
        self.conn = conn
        self.tenant = tenant
        self.node = node

    def call(self, query: str, *parameters: Any) -> list[Any]:
        cursor = self.conn.execute(query.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, query: str, *parameters: Any) -> Any:
        ((value,),) = self.call(query, *parameters)
        return value

    def enqueue_row(self, kind: str | None = "mail", payload: Any = None, **fields: Any) -> Any:
        """Enqueue one job; `fields` are the other arguments of enqueue_job without their p_."""
        given = {"kind": kind, "payload": "{}" if payload is None else json.dumps(payload), **fields}
        if isinstance(given.get("retry"), dict | list):
            given["retry"] = json.dumps(given["retry"])
        names = sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), sql.Placeholder()) for name in given
        )
        query = sql.SQL("select * from windlass.enqueue_job(%s, {})").format(names)
        (row,) = self.conn.execute(query, (self.tenant, *given.values())).fetchall()
        return row

    def enqueue(self, kind: str | None = "mail", payload: Any = None, **fields: Any) -> UUID:
        job_id = self.enqueue_row(kind, payload, **fields).job_id
        assert isinstance(job_id, UUID)
        return job_id

    def enqueue_many(self, jobs: Any) -> list[Any]:
        return self.call("select * from windlass.enqueue_jobs(%s, %s)", self.tenant, json.dumps(jobs))

    def get(self, job_id: UUID) -> Any:
        (row,) = self.call("select * from windlass.get_job(%s, %s)", self.tenant, job_id)
        return row

    def state(self, job_id: UUID) -> str:
        return str(self.get(job_id).state)

    def cancel(self, job_id: UUID, reason: str | None = None, actor: str | None = None) -> str:
        query = "select windlass.cancel_job(%s, %s, %s, %s)"
        return str(self.value(query, self.tenant, job_id, reason, actor))

    def claim(
        self,
        limit: int | None = 1,
        *,
        queues: Sequence[str | None] | None = ("default",),
        kinds: Sequence[str] | None = None,
        lease: float | None = 30,
        wait: bool = False,
        begins: bool = False,
    ) -> list[Any]:
        return self.call(
            "select * from windlass.claim_jobs(%s, %s::text[], %s::text[], %s, %s, %s, p_begins => %s)",
            self.node,
            queues if queues is None else list(queues),
            kinds if kinds is None else list(kinds),
            limit,
            lease,
            wait,
            begins,
        )

    def claim_one(self, **how: Any) -> Any:
        (row,) = self.claim(1, **how)
        return row

    def begin(self, *held: Held, called: Sequence[bool | None] | None = None) -> list[tuple[Any, ...]]:
        """The refused words, as (job, code)."""
        query = "select job_id, code from windlass.begin_jobs(%s::uuid[], %s::uuid[], %s::boolean[])"
        return [tuple(row) for row in self.call(query, *_words(held), called)]

    def renew(self, *tokens: UUID, lease: float | None = 30) -> list[tuple[Any, ...]]:
        query = "select token, job_id, code from windlass.renew_leases(%s::uuid[], %s)"
        return [tuple(row) for row in self.call(query, list(tokens), lease)]

    def complete(
        self,
        *held: Held,
        results: Sequence[Any] | None = None,
        costs: Sequence[int | None] | None = None,
        states: Sequence[str | None] | None = None,
        tenants: Sequence[UUID] | None = None,
    ) -> list[tuple[Any, ...]]:
        """The refused words, as (job, code)."""
        rows = self.call(
            "select job_id, code from windlass.complete_jobs(%s::uuid[], %s::uuid[], %s::text[]::jsonb[], "
            "%s::bigint[], %s::text[], %s::uuid[])",
            *_words(held),
            _texts(results),
            costs,
            states,
            tenants,
        )
        return [tuple(row) for row in rows]

    def finish(self, held: Held, result: Any = None, cost: int | None = None) -> None:
        text = None if result is None else json.dumps(result)
        self.call("select windlass.finish_job(%s, %s, %s, %s)", held.token, held.job_id, text, cost)

    def fail(
        self,
        *held: Held,
        errors: Sequence[Any] | None = None,
        outcomes: Sequence[str | None] | None = None,
        delays: Sequence[float | None] | None = None,
        costs: Sequence[int | None] | None = None,
    ) -> list[Any]:
        return self.call(
            "select * from windlass.fail_jobs(%s::uuid[], %s::uuid[], %s::text[]::jsonb[], %s::text[], "
            "%s::float8[], %s::bigint[])",
            *_words(held),
            _texts(errors),
            outcomes,
            _floats(delays),
            costs,
        )

    def snooze(
        self, *held: Held, delays: Sequence[float | None] | None, costs: Sequence[int] | None = None
    ) -> list[Any]:
        return self.call(
            "select * from windlass.snooze_jobs(%s::uuid[], %s::uuid[], %s::float8[], %s::bigint[])",
            *_words(held),
            _floats(delays),
            costs,
        )

    def release(self, *held: Held) -> list[Any]:
        return self.call("select * from windlass.release_jobs(%s::uuid[], %s::uuid[])", *_words(held))

    def cost(self, *entries: tuple[Held, int, str], ids: Sequence[UUID] | None = None) -> list[str]:
        """Record costs; one code for each."""
        rows = self.call(
            "select code from windlass.record_costs(%s::uuid[], %s::uuid[], %s::bigint[], %s::text[], "
            "%s::uuid[])",
            *_words([held for held, _, _ in entries]),
            [cents for _, cents, _ in entries],
            [what for _, _, what in entries],
            ids,
        )
        return [row.code for row in rows]

    def expire(self, limit: int | None = 100) -> list[tuple[Any, ...]]:
        rows = self.call("select job_id, state from windlass.expire_leases(%s)", limit)
        return [tuple(row) for row in rows]


def _words(held: Sequence[Held]) -> tuple[list[UUID], list[UUID]]:
    return [word.token for word in held], [word.job_id for word in held]


def _floats(values: Sequence[float | None] | None) -> list[float | None] | None:
    return None if values is None else [None if value is None else float(value) for value in values]


def _texts(values: Sequence[Any] | None) -> list[str | None] | None:
    return None if values is None else [None if value is None else json.dumps(value) for value in values]


@contextmanager
def refused(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[psycopg.Error]]:
    """Expect an error of the database with this SQLSTATE."""
    with pytest.raises(psycopg.Error, match=match) as caught:
        yield caught
    assert caught.value.sqlstate == code, f"{caught.value.sqlstate}: {caught.value}"
