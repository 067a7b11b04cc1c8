"""enqueue_jobs: many at once, all or none, one answer for each in the order given."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.steps import UNKNOWN, Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def new(**fields: Any) -> dict[str, Any]:
    return {"kind": "mail", "payload": {}, **fields}


def test_one_answer_for_each_in_the_order_given(db: Database, jobs: Session) -> None:
    mine = uuid4()
    rows = jobs.enqueue_many(
        [new(payload=0), new(payload=1, id=str(mine)), new(payload=2, key="k"), new(payload=2, key="k")]
    )
    assert [row.ordinal for row in rows] == [1, 2, 3, 4]
    assert [row.created for row in rows] == [True, True, True, False]
    assert rows[1].job_id == mine
    assert rows[2].job_id == rows[3].job_id
    assert [jobs.get(row.job_id).payload for row in rows] == [0, 1, 2, 2]
    assert_whole(db)


def test_places_in_line_follow_the_order_given(jobs: Session) -> None:
    rows = jobs.enqueue_many([new(kind=f"k{n % 3}", payload=n) for n in range(50)])
    assert [row.job_id for row in jobs.claim(50)] == [row.job_id for row in rows]


def test_every_field_is_kept(jobs: Session, clock: Clock) -> None:
    run_at = clock.now() + timedelta(days=1)
    retry = {"base": 1, "factor": 2, "cap": 9, "jitter": "none"}
    fields = {
        "id": str(uuid4()),
        "kind": "a.b",
        "payload": {"x": [1]},
        "queue": "q",
        "priority": 3,
        "run_at": run_at.isoformat(),
        "max_attempts": 2,
        "retry": retry,
        "timeout_ms": 1000,
        "key": "k",
        "scope": "active",
        "trace_id": "t",
        "correlation_id": "c",
    }
    (row,) = jobs.enqueue_many([fields])
    job = jobs.get(row.job_id)
    assert job.id == UUID(str(fields["id"]))
    assert (job.kind, job.payload, job.queue, job.priority) == ("a.b", {"x": [1]}, "q", 3)
    assert (job.run_at, job.max_attempts, job.retry, job.timeout_ms) == (run_at, 2, retry, 1000)
    assert (job.idempotency_key, job.trace_id, job.correlation_id) == ("k", "t", "c")


def test_a_null_field_takes_its_default(jobs: Session) -> None:
    names = ("id", "queue", "priority", "run_at", "max_attempts", "retry", "timeout_ms", "key", "scope")
    (row,) = jobs.enqueue_many([new(**dict.fromkeys(names))])
    job = jobs.get(row.job_id)
    assert (job.queue, job.priority, job.max_attempts, job.retry) == ("default", 0, 5, None)


def test_a_payload_may_be_the_null_of_json(jobs: Session) -> None:
    rows = jobs.enqueue_many([new(payload=1), new(payload=None), new(payload=None, key="k")])
    assert [jobs.get(row.job_id).payload for row in rows] == [1, None, None]


def test_no_jobs_is_no_work(db: Database, jobs: Session) -> None:
    with nothing_changed(db):
        assert jobs.enqueue_many([]) == []


def test_a_large_batch(db: Database, jobs: Session) -> None:
    rows = jobs.enqueue_many([new(payload=n, key=f"k{n}", priority=n % 5) for n in range(2000)])
    assert len({row.job_id for row in rows}) == 2000
    assert all(row.created for row in rows)
    with nothing_changed(db):
        again = jobs.enqueue_many([new(payload=n, key=f"k{n}", priority=n % 5) for n in range(2000)])
    assert [(row.job_id, row.created) for row in again] == [(row.job_id, False) for row in rows]
    assert_whole(db)


REFUSED: list[tuple[str, Any]] = [
    ("array of objects", {}),
    ("array of objects", None),
    ("array of objects", "x"),
    ("job 2 of the batch: is not an object", [new(), 3]),
    ("job 1 of the batch: is not an object", [[]]),
    ("job 2 of the batch: unknown field tenant_id", [new(), new(tenant_id=str(UNKNOWN))]),
    ("job 1 of the batch: unknown field state", [new(state="succeeded")]),
    ("job 2 of the batch: queue must not begin", [new(), new(queue="windlass.cluster")]),
    ("job 2 of the batch: kind must not begin", [new(), new(kind="windlass.redrive")]),
    ("job 2 of the batch: run_at", [new(), new(run_at="20000-01-01Z")]),
    ("^kind must", [{"payload": {}}]),
    ("job 3 of the batch: max_attempts", [new(), new(), new(max_attempts=0)]),
    ("job 2 of the batch: queue", [new(), new(queue="no spaces")]),
    ("job 2 of the batch: payload has", [new(), new(payload="x" * 1_100_000)]),
    ("job 2 of the batch: run_at", [new(), new(run_at="infinity")]),
    ("wrong type", [new(), new(priority="high")]),
    ("wrong type", [new(run_at="soon")]),
    ("wrong type", [new(id="mine")]),
    ("wrong type", [new(max_attempts=1.5)]),
    ("wrong type", [new(max_attempts=10**12)]),
    ("wrong type", [new(timeout_ms=True)]),
]


def test_one_bad_job_refuses_the_batch(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    for why, batch in REFUSED:
        with subtests.test(why=why, batch=str(batch)[:100]), nothing_changed(db), refused("WL007", why):
            jobs.enqueue_many(batch)


def test_a_payload_that_is_not_given_is_empty_and_one_that_is_null_is_null(jobs: Session) -> None:
    rows = jobs.enqueue_many([{"kind": "mail"}, {"kind": "mail", "payload": None}])
    assert [jobs.get(row.job_id).payload for row in rows] == [{}, None]


def test_a_missing_batch_is_refused(db: Database, jobs: Session) -> None:
    with nothing_changed(db), refused("WL007"):
        jobs.call("select windlass.enqueue_jobs(%s, null)", jobs.tenant)


def test_text_that_no_json_holds_is_refused(db: Database, jobs: Session) -> None:
    for text in ('[{"kind": "mail", "payload": "\\u0000"}]', '[{"kind": "mail", "payload": "\\ud800"}]'):
        with nothing_changed(db), pytest.raises(psycopg.DataError):
            jobs.call("select windlass.enqueue_jobs(%s, %s)", jobs.tenant, text)


def test_one_id_twice_is_one_job(db: Database, jobs: Session, clock: Clock) -> None:
    """Also when one of the two is for later: whichever comes first is the job."""
    later = (clock.now() + timedelta(hours=1)).isoformat()
    for first, second in ((None, None), (None, later), (later, None), (later, later)):
        mine = str(uuid4())
        rows = jobs.enqueue_many([new(id=mine, run_at=first), new(id=mine, run_at=second), new()])
        assert [row.created for row in rows] == [True, False, True]
        assert rows[0].job_id == rows[1].job_id
        assert_whole(db)
    assert len(jobs.claim(100)) == 6


def test_one_id_twice_with_another_content_is_refused(db: Database, jobs: Session) -> None:
    mine = str(uuid4())
    with nothing_changed(db), refused("WL002"):
        jobs.enqueue_many([new(id=mine, payload=1), new(id=mine, payload=2)])


def test_one_id_and_key_twice_is_one_job(db: Database, jobs: Session) -> None:
    mine = str(uuid4())
    rows = jobs.enqueue_many([new(id=mine, key="k"), new(id=mine, key="k")])
    assert [row.created for row in rows] == [True, False]
    assert_whole(db)


def test_an_unknown_tenant_is_not_found(db: Database, jobs: Session) -> None:
    jobs.tenant = UNKNOWN
    with nothing_changed(db), refused("WL001"):
        jobs.enqueue_many([new()])


def test_a_rollback_takes_the_batch_along(db: Database, jobs: Session) -> None:
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        jobs.enqueue_many([new(key=f"k{n}") for n in range(10)])
