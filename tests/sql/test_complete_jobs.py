"""complete_jobs: success, in batches, and what a refused word gets."""

from typing import Any

import psycopg
import pytest

from tests.sql.steps import Session, Word, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

MIB = 1024 * 1024


def attempts(db: Database) -> list[Any]:
    query = "select * from windlass_data.attempt order by job_id, version"
    return db.fetch(query, role="superuser")


def test_the_attempt_records_what_happened(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    assert jobs.complete(held, results=[{"ok": True}], costs=[12]) == []
    (attempt,) = attempts(db)
    assert (attempt.job_id, attempt.version, attempt.counted) == (job_id, 1, 1)
    assert (attempt.node_id, attempt.token) == (jobs.node, held.token)
    assert (attempt.started_at, attempt.finished_at) == (now, now)
    assert (attempt.outcome, attempt.ends, attempt.result) == ("succeeded", "succeeded", {"ok": True})
    assert (attempt.cost_cents, attempt.error) == (12, None)
    assert_whole(db)


def test_a_batch_over_several_leases(db: Database, jobs: Session) -> None:
    made = [jobs.enqueue(f"k{n % 3}", {"n": n}) for n in range(12)]
    first, second = jobs.claim(7), jobs.claim(7)
    held = [*first[:3], *second, *first[3:]]
    results = [row.payload for row in held]
    states = ["skipped" if row.payload["n"] % 2 else "succeeded" for row in held]
    assert jobs.complete(*held, results=results, costs=list(range(12)), states=states) == []
    for job_id in made:
        job = jobs.get(job_id)
        assert job.result == job.payload
        assert job.state == ("skipped" if job.payload["n"] % 2 else "succeeded")
    assert db.fetch("select * from windlass_data.lease", role="superuser") == []
    assert_whole(db)


def test_a_lease_one_job_at_a_time(db: Database, jobs: Session) -> None:
    for n in range(5):
        jobs.enqueue(payload=n)
    held = jobs.claim(5)
    assert len({row.token for row in held}) == 1
    for row in held:
        assert jobs.complete(row) == []
        assert_whole(db)
    assert db.fetch("select * from windlass_data.lease", role="superuser") == []


def test_only_the_refused_words_come_back(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue("a")
    lost = jobs.claim_one(lease=5)
    clock.advance(6)
    jobs.expire()
    jobs.enqueue("b")
    held = jobs.claim_one(kinds=["b"])
    assert jobs.complete(lost, held) == [(lost.job_id, "lease_lost")]
    assert (jobs.state(held.job_id), jobs.state(lost.job_id)) == ("succeeded", "queued")
    assert_whole(db)


def test_one_job_twice_in_a_batch_is_completed_once(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    assert jobs.complete(held, held) == []
    assert len(attempts(db)) == 1
    assert_whole(db)


def test_a_caller_without_an_answer_may_say_it_again(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    jobs.enqueue()
    a, b = jobs.claim(2)
    assert jobs.complete(a, results=[1]) == []
    with nothing_changed(db):
        assert jobs.complete(a, results=[2], tenants=[jobs.tenant]) == []
    with nothing_changed(db):
        assert jobs.complete(a, results=[2]) == [(a.job_id, "lease_lost")]
    assert jobs.get(a.job_id).result == 1
    jobs.fail(b, delays=[60])
    with nothing_changed(db):
        assert jobs.complete(b, tenants=[jobs.tenant]) == [(b.job_id, "lease_lost")]


def test_no_words_are_no_work(db: Database, jobs: Session) -> None:
    with nothing_changed(db):
        assert jobs.complete() == []


def test_any_json_is_a_result(db: Database, jobs: Session) -> None:
    values: list[Any] = [None, 0, False, "", [], {"a": {"b": [1, None]}}, "x" * (MIB - 100)]
    for n in range(len(values)):
        jobs.enqueue(payload=n)
    held = jobs.claim(len(values))
    jobs.complete(*held, results=values)
    assert [jobs.get(row.job_id).result for row in held] == values


def test_bad_input_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    jobs.enqueue()
    jobs.enqueue()
    held = jobs.claim(2)
    wrongs: list[dict[str, Any]] = [
        {"results": [1]},
        {"results": [1, 2, 3]},
        {"results": [1, "x" * (4 * MIB + 1)]},
        {"costs": [1]},
        {"costs": [1, -1]},
        {"costs": [1, 10**12 + 1]},
        {"states": ["succeeded"]},
        {"states": ["succeeded", None]},
        {"states": ["succeeded", "dead"]},
        {"states": ["succeeded"] * 3},
        {"tenants": [jobs.tenant]},
    ]
    for wrong in wrongs:
        with subtests.test(wrong=str(wrong)[:80]), nothing_changed(db), refused("WL007"):
            jobs.complete(*held, **wrong)
    for tokens, ids in ((None, []), ([], None), ([held[0].token], []), ([None], [held[0].job_id])):
        with subtests.test(tokens=tokens, ids=ids), nothing_changed(db), refused("WL007"):
            jobs.call("select windlass.complete_jobs(%s::uuid[], %s::uuid[])", tokens, ids)
    assert jobs.complete(*held) == []


def test_text_that_no_json_holds_is_refused(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    for text in ('"\\u0000"', '"\\ud800"'):
        with nothing_changed(db), pytest.raises(psycopg.DataError):
            jobs.call(
                "select windlass.complete_jobs(%s, %s, %s::text[]::jsonb[])",
                [held.token],
                [held.job_id],
                [text],
            )


def test_costs_add_up_over_the_attempts(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    jobs.fail(jobs.claim_one(), delays=[0], costs=[10**12])
    jobs.snooze(jobs.claim_one(), delays=[0], costs=[5])
    jobs.release(jobs.claim_one())
    jobs.complete(jobs.claim_one(), costs=[10**12])
    assert jobs.get(job_id).cost_cents == 2 * 10**12 + 5
    assert [row.cost_cents for row in attempts(db)] == [10**12, 5, None, 10**12]


def test_a_succeeded_job_never_runs_again(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one(lease=5)
    jobs.complete(held)
    clock.advance(3600)
    assert jobs.expire() == []
    assert jobs.claim() == []
    assert [row.code for row in jobs.fail(held)] == ["lease_lost"]
    assert jobs.state(job_id) == "succeeded"


def test_a_rolled_back_completion_leaves_the_job_running(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        assert jobs.complete(held) == []
        assert jobs.state(job_id) == "succeeded"
    assert jobs.state(job_id) == "running"
    assert jobs.complete(held) == []


def test_a_token_holds_its_own_jobs_only(db: Database, jobs: Session) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b")
    a, b = jobs.claim(2)
    with nothing_changed(db):
        assert jobs.complete(Word(a.token, b.job_id), Word(b.token, a.job_id)) == [
            (b.job_id, "lease_lost"),
            (a.job_id, "lease_lost"),
        ]
