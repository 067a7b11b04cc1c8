"""enqueue_many: jobs that share all but their payloads, in one call; what is found is told by its place."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.steps import UNKNOWN, Session, refused
from tests.sql.two import ENDINGS, Ending, Two
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database
from windlass.model import uuid7_many

pytestmark = pytest.mark.every_version

CALL = "select place from windlass.enqueue_many(%s, %s, %s, %s) as place"


def many(jobs: Session, payloads: Any, ids: list[Any] | None, shared: Any = None) -> list[int]:
    said = {"kind": "mail"} if shared is None else shared
    return [row.place for row in jobs.call(CALL, jobs.tenant, json.dumps(said), json.dumps(payloads), ids)]


def test_a_job_for_each_payload_in_the_order_given(db: Database, jobs: Session) -> None:
    ids = [uuid4() for _ in range(50)]
    assert many(jobs, list(range(50)), ids) == []
    assert [(row.job_id, row.payload) for row in jobs.claim(60)] == list(zip(ids, range(50), strict=True))
    assert_whole(db)


def test_any_json_is_a_payload(jobs: Session) -> None:
    payloads: list[Any] = [None, 0, "", [], {}, "x", 1.5, [[1]], "\u2028\uffff😀", {"a": [None]}]
    ids = uuid7_many(len(payloads))
    assert many(jobs, payloads, ids) == []
    assert [jobs.get(job_id).payload for job_id in ids] == payloads


def test_every_shared_field_is_kept(db: Database, jobs: Session, clock: Clock) -> None:
    run_at = clock.now() + timedelta(days=1)
    retry = {"base": 1, "factor": 2, "cap": 9, "jitter": "none"}
    shared = {
        "kind": "a.b",
        "queue": "q",
        "priority": 3,
        "run_at": run_at.isoformat(),
        "max_attempts": 2,
        "retry": retry,
        "timeout_ms": 1000,
        "scope": "active",
        "trace_id": "t",
        "correlation_id": "c",
    }
    ids = uuid7_many(2)
    with jobs.conn.transaction():
        jobs.call("select set_config('windlass.actor', 'ada', true)")
        assert many(jobs, [{"x": 1}, {"x": 2}], ids, shared) == []
    for number, job in enumerate(map(jobs.get, ids), 1):
        assert (job.kind, job.payload, job.queue, job.priority) == ("a.b", {"x": number}, "q", 3)
        assert (job.run_at, job.max_attempts, job.retry, job.timeout_ms) == (run_at, 2, retry, 1000)
        assert (job.trace_id, job.correlation_id, job.idempotency_key) == ("t", "c", None)
    assert jobs.claim(5, queues=["q"]) == [], "not before its time"
    assert db.fetch_value("select min(actor) from windlass_data.job", role="superuser") == "ada"
    assert_whole(db)
    clock.freeze(run_at)
    assert len(jobs.claim(5, queues=["q"])) == 2


def test_a_time_that_has_come_is_now(jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    many(jobs, [1], [uuid4()], {"kind": "mail", "run_at": now.isoformat(), "priority": None})
    assert len(jobs.claim(5)) == 1


def test_the_same_again_is_found_by_its_place(db: Database, jobs: Session) -> None:
    ids = uuid7_many(4)
    many(jobs, [1, 2], ids[1:3])
    assert many(jobs, [0, 1, 2, 3], ids) == [2, 3]
    with nothing_changed(db):
        assert many(jobs, [0, 1, 2, 3], ids) == [1, 2, 3, 4]
    assert [row.payload for row in jobs.claim(9)] == [1, 2, 0, 3]
    assert_whole(db)


def test_one_id_twice_is_one_job(db: Database, jobs: Session) -> None:
    mine = uuid4()
    assert many(jobs, [1, 1, 2], [mine, mine, uuid4()]) == [2]
    assert len(jobs.claim(9)) == 2
    assert_whole(db)


def test_an_id_with_another_content_refuses_the_batch(db: Database, jobs: Session) -> None:
    taken = jobs.enqueue(payload=1)
    with nothing_changed(db), refused("WL002", "the id is taken"):
        many(jobs, [5, 2], [uuid4(), taken])
    with nothing_changed(db), refused("WL002"):
        many(jobs, [5, 1], [uuid4(), taken], {"kind": "other"})


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_ids_from_two_producers(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    """As when an enqueue is said again while the first is still being committed."""
    jobs.enqueue()
    ids = uuid7_many(3)
    race = two.race(lambda s: many(s, [1, 2, 3], ids), lambda s: many(s, [1, 2, 3], ids), ending=ending)
    assert race.waited
    assert race.second == ([1, 2, 3] if ending == "commit" else [])
    assert len(jobs.claim(9)) == 4
    assert_whole(db)


def test_another_tenants_id_is_nobodys_business(db: Database, jobs: Session, other: Session) -> None:
    theirs = other.enqueue(payload=1)
    assert many(jobs, [2], [theirs]) == []
    assert (jobs.get(theirs).payload, other.get(theirs).payload) == (2, 1)


def test_no_payloads_are_no_work(db: Database, jobs: Session) -> None:
    with nothing_changed(db):
        assert many(jobs, [], []) == []


REFUSED: list[tuple[str, Any, Any, Any]] = [
    ("the payloads must be an array", {}, [], None),
    ("the payloads must be an array", None, [], None),
    ("each payload needs an id", [1], None, None),
    ("each payload needs an id", [1], [], None),
    ("each payload needs an id", [1], [uuid4(), uuid4()], None),
    ("each payload needs an id", [1, 2], [uuid4(), None], None),
    ("can share no id, key or payload", [1], [uuid4()], {"kind": "mail", "key": "k"}),
    ("can share no id, key or payload", [1], [uuid4()], {"kind": "mail", "id": str(uuid4())}),
    ("can share no id, key or payload", [1], [uuid4()], {"kind": "mail", "payload": 1}),
    ("job 1 of the batch: unknown field state", [1], [uuid4()], {"kind": "mail", "state": "dead"}),
    ("job 1 of the batch: is not an object", [1], [uuid4()], 3),
    ("^kind", [1], [uuid4()], {}),
    ("^queue", [1], [uuid4()], {"kind": "mail", "queue": "no spaces"}),
    ("^priority", [1], [uuid4()], {"kind": "mail", "priority": 40_000}),
    ("^max_attempts", [1], [uuid4()], {"kind": "mail", "max_attempts": 0}),
    ("^retry", [1], [uuid4()], {"kind": "mail", "retry": {"jitter": "half"}}),
    ("^run_at", [1], [uuid4()], {"kind": "mail", "run_at": "infinity"}),
    ("job 1 of the batch: queue", [1], [uuid4()], {"kind": "mail", "queue": "windlass.cluster"}),
    ("job 1 of the batch: kind must not", [1], [uuid4()], {"kind": "windlass.redrive"}),
    ("wrong type", [1], [uuid4()], {"kind": "mail", "timeout_ms": "long"}),
    ("job 2 of the batch: payload has", [1, "x" * 1_100_000], [uuid4(), uuid4()], None),
]


def test_what_could_never_run_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    for why, payloads, ids, shared in REFUSED:
        with subtests.test(why=why, shared=shared), nothing_changed(db), refused("WL007", why):
            many(jobs, payloads, ids, shared)


def test_payloads_that_are_large_only_together(jobs: Session) -> None:
    ids = uuid7_many(3)
    assert many(jobs, ["x" * 600_000] * 3, ids) == []
    assert len(jobs.get(ids[2]).payload) == 600_000


def test_a_payload_that_packs_well_is_still_too_large(db: Database, jobs: Session) -> None:
    superuser = db.connection("superuser")
    superuser.execute("create table public.source (payloads jsonb)")
    superuser.execute("grant select on public.source to public")
    superuser.execute("insert into public.source select jsonb_build_array(repeat('x', 3000000))")
    query = f"select windlass.enqueue_many('{jobs.tenant}', '{{\"kind\": \"mail\"}}', s.payloads, %s)"
    with nothing_changed(db), refused("WL007", "payload has"):
        jobs.call(f"{query} from public.source as s", [uuid4()])


def test_tenants(db: Database, jobs: Session) -> None:
    with nothing_changed(db), refused("WL005"):
        jobs.call(CALL, None, '{"kind": "mail"}', "[1]", [uuid4()])
    jobs.tenant = UNKNOWN
    with nothing_changed(db), refused("WL001", "there is no tenant"):
        many(jobs, [1], [uuid4()])


def test_a_rollback_takes_the_jobs_along(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        many(jobs, [1, 2], uuid7_many(2))


def test_a_snapshot_from_before_the_first_is_told_to_try_again(db: Database, jobs: Session) -> None:
    ids: list[UUID] = uuid7_many(2)
    late = Session(db.connect(autocommit=False))
    late.call("set transaction isolation level repeatable read")
    late.call("select 1")
    many(jobs, [1, 2], ids)
    with nothing_changed(db), pytest.raises(psycopg.errors.SerializationFailure):
        many(late, [1, 2], ids)
    late.conn.rollback()
