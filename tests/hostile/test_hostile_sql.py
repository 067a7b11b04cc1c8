"""Hostile values through SQL itself, as any language may send them: stored, or refused with a code."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.hostile.values import SQL_JSON, storable_texts
from tests.hostile.watch import read_by_command, read_everything
from tests.integration.crew import Crew, until
from tests.sql.steps import Session
from tests.sql.whole import nothing_changed
from tests.support import Database
from windlass.client import SyncClient
from windlass.db.sqlstates import from_sqlstate
from windlass.errors import InvalidInput, WindlassError

TEXTS = storable_texts()
ENQUEUE = "select job_id from windlass.enqueue_job(%s, 'k', %s::text::jsonb)"


@pytest.fixture
def jobs(db: Database) -> Session:
    return Session(db.connection())


def refuse(db: Database, jobs: Session, states: tuple[str, ...], query: str, *values: Any) -> None:
    with nothing_changed(db), pytest.raises(psycopg.Error) as caught:
        jobs.call(query, *values)
    assert caught.value.sqlstate in states
    assert isinstance(from_sqlstate(caught.value.sqlstate, ""), InvalidInput)


def test_json_that_python_would_never_send(
    db: Database, jobs: Session, client: SyncClient, tmp_path: Path
) -> None:
    """What Python cannot hold is shown as its text; it hides neither itself nor its neighbours."""
    kept: dict[UUID, str] = {}
    for text, states in SQL_JSON.items():
        if states is None:
            kept[jobs.value(ENQUEUE, jobs.tenant, text)] = text
        else:
            refuse(db, jobs, states, ENQUEUE, jobs.tenant, text)
    for id, text in kept.items():
        query = "select payload = %s::text::jsonb from windlass.get_job(%s, %s)"
        assert jobs.value(query, text, jobs.tenant, id), "the database kept it exactly"
    found = read_everything(db, client)
    assert set(found) == set(kept) == set(read_by_command(db, tmp_path))
    by_text = {text: found[id].payload for id, text in kept.items()}
    assert by_text['{"a": 1, "a": 2}'] == {"a": 2}
    assert by_text["1e400"] == 10**400
    assert by_text["9" * 5_000] == "9" * 5_000
    assert by_text["[" * 900 + "]" * 900] == "[" * 900 + "]" * 900


@pytest.mark.parametrize("word", ["complete", "fail", "finish"])
def test_results_and_errors_that_python_would_never_send(
    db: Database, jobs: Session, client: SyncClient, tmp_path: Path, word: str
) -> None:
    texts = {
        "complete": "select code from windlass.complete_jobs(%s, %s, array[%s::text::jsonb])",
        "fail": "select code from windlass.fail_jobs(%s, %s, array[%s::text::jsonb])",
        "finish": "select windlass.finish_job((%s::uuid[])[1], (%s::uuid[])[1], %s::text::jsonb)",
    }
    for text, states in SQL_JSON.items():
        jobs.enqueue(max_attempts=1)
        held = jobs.claim_one()
        given = ([held.token], [held.job_id], text)
        if states is None:
            jobs.call(texts[word], *given)
        else:
            refuse(db, jobs, states, texts[word], *given)
            assert jobs.complete(held) == [], "the refusal left the lease alone"
        if word == "finish":
            jobs.complete(held, tenants=[jobs.tenant])
    assert len(read_everything(db, client)) == len(SQL_JSON)
    assert len(read_by_command(db, tmp_path)) == len(SQL_JSON)


async def test_a_worker_outlives_a_payload_that_it_cannot_read(db: Database, jobs: Session) -> None:
    """The attempt fails with the reason, and the jobs beside it are done."""
    crew = Crew(db)

    def whole(**payload: Any) -> None: ...

    def count(ids: list[UUID], *states: str) -> int:
        text = "select count(*) from unnest(%s::uuid[]) as i, windlass.get_job(%s, i) where state = any (%s)"
        return int(jobs.value(text, ids, jobs.tenant, list(states)))

    crew.knows(whole, max_attempts=1)
    bad = [text for text, states in SQL_JSON.items() if states is None]
    insert = "select job_id from windlass.enqueue_job(%s, 'whole', %s::text::jsonb, p_max_attempts => 1)"
    poisoned = [jobs.value(insert, jobs.tenant, text) for text in bad]
    good = [crew.enqueue("whole", payload={"a": place}) for place in range(5)]
    async with crew.worker():
        await until(lambda: count(good, "succeeded") == len(good), "the good jobs are done")
        await until(lambda: count(poisoned, "dead", "succeeded") == len(bad), "all have ended")
    for job, text in zip(poisoned, bad, strict=True):
        (attempt,) = crew.attempts(job)
        readable = text == '{"a": 1, "a": 2}'
        assert (attempt.outcome == "succeeded") == readable, text[:50]
        assert readable or attempt.error["type"] == "InvalidPayload"


FIELDS = ("kind", "queue", "key", "trace_id", "correlation_id", "scope")


@pytest.mark.parametrize("field", FIELDS)
def test_texts_in_the_fields_of_a_job(
    db: Database, jobs: Session, client: SyncClient, tmp_path: Path, field: str
) -> None:
    kept: dict[UUID, str] = {}
    refused: dict[str | None, str] = {}
    for place, text in enumerate(TEXTS):
        given = json.dumps([{"kind": "k", "payload": place, field: text}])
        try:
            id = jobs.value("select job_id from windlass.enqueue_jobs(%s, %s)", jobs.tenant, given)
        except psycopg.Error as error:
            refused[error.sqlstate] = text
        else:
            kept[id] = text
    assert set(refused) <= {"WL007"}, refused
    found = read_everything(db, client)
    if field != "scope":
        column = {"key": "idempotency_key"}.get(field, field)
        assert {id: getattr(found[id], column) or "" for id in kept} == kept
    assert set(read_by_command(db, tmp_path)) == set(kept)


ASKED = {
    "reason": "select windlass.cancel_job(%(tenant)s, %(job)s, %(text)s)",
    "actor": "select windlass.cancel_job(%(tenant)s, %(job)s, null, %(text)s)",
    "pattern": "select * from windlass.redrive_jobs(%(tenant)s, p_error_like => %(text)s)",
    "cursor": "select * from windlass.list_jobs(%(tenant)s, p_cursor => %(text)s)",
    "states": "select * from windlass.list_jobs(%(tenant)s, p_states => array[%(text)s])",
    "kinds": "select * from windlass.list_jobs(%(tenant)s, p_kinds => array[%(text)s])",
    "claim": "select * from windlass.claim_jobs(%(job)s, array[%(text)s], array[%(text)s])",
    "gate": "select windlass.set_gate(p_queue => %(text)s, p_reason => %(text)s)",
    "mode": "select windlass.set_queue('q', %(text)s)",
    "slug": "select windlass.tenant_id(%(text)s)",
    "outcome": "select * from windlass.fail_jobs(array[%(job)s], array[%(job)s], null, array[%(text)s])",
    "state": "select * from windlass.complete_jobs("
    "array[%(job)s], array[%(job)s], p_states => array[%(text)s])",
}


@pytest.mark.parametrize("asked", ASKED)
def test_texts_in_every_other_argument(db: Database, jobs: Session, client: SyncClient, asked: str) -> None:
    job_id = jobs.enqueue()
    strange = {}
    for text in TEXTS:
        given = {"tenant": jobs.tenant, "job": job_id, "text": text}
        try:
            jobs.conn.execute(ASKED[asked].encode(), given)
        except psycopg.Error as error:
            if type(from_sqlstate(error.sqlstate, "")) is WindlassError:
                strange[text] = str(error)
    assert strange == {}, "each refusal has a code"
    read_everything(db, client)


def test_the_actor_of_a_session(db: Database, jobs: Session, client: SyncClient) -> None:
    """The setting is text as any other, and no longer than an actor may be."""
    for text in TEXTS:
        if len(text) > 200:
            job_id = jobs.enqueue()
            query = "select set_config('windlass.actor', %s, true), windlass.cancel_job(%s, %s)"
            refuse(db, jobs, ("WL007",), query, text, jobs.tenant, job_id)
            continue
        with jobs.conn.transaction():
            jobs.call("select set_config('windlass.actor', %s, true)", text)
            job_id = jobs.enqueue()
            jobs.cancel(job_id)
        *_, last = client.list_history(job_id)
        assert last.actor == (text or "windlass_app")
