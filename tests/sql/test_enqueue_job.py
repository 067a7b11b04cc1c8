"""enqueue_job: what is stored, what is refused, and that it belongs to the caller's transaction."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import assert_whole, nothing_changed, read_tables
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

MIB = 1024 * 1024


def test_a_job_is_queued_with_its_defaults(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    row = jobs.enqueue_row("mail", {"to": "ada"})
    assert row.created
    job = jobs.get(row.job_id)
    assert (job.state, job.queue, job.kind, job.priority) == ("queued", "default", "mail", 0)
    assert (job.payload, job.version, job.counted, job.max_attempts) == ({"to": "ada"}, 0, 0, 5)
    assert (job.created_at, job.run_at, job.started_at, job.finished_at) == (now, now, None, None)
    assert (job.result, job.error, job.retry, job.timeout_ms, job.idempotency_key) == (None,) * 5
    assert (job.correlation_id, job.node_id, job.ended_reason) == (None,) * 3
    assert job.trace_id == row.job_id.hex, "a job without a trace id is its own trace"
    assert (job.cost_cents, job.cancel_requested) == (0, False)
    assert_whole(db)


def test_every_field_is_kept(db: Database, jobs: Session, clock: Clock) -> None:
    run_at = clock.now() + timedelta(hours=1)
    mine = uuid4()
    job_id = jobs.enqueue(
        "billing.close/v2:eu-1",
        [1, {"ü": None}],
        queue="slow",
        priority=-7,
        run_at=run_at,
        key="month-11",
        scope="active",
        max_attempts=32767,
        retry={"base": 2, "factor": 3, "cap": None, "jitter": "tenth"},
        timeout_ms=1,
        trace_id="t" * 200,
        correlation_id="c" * 200,
        id=mine,
    )
    job = jobs.get(job_id)
    assert job.id == mine
    assert (job.kind, job.queue, job.priority, job.payload) == (
        "billing.close/v2:eu-1",
        "slow",
        -7,
        [1, {"ü": None}],
    )
    assert (job.run_at, job.idempotency_key, job.max_attempts) == (run_at, "month-11", 32767)
    assert job.retry == {"base": 2, "factor": 3, "cap": None, "jitter": "tenth"}
    assert (job.timeout_ms, job.trace_id, job.correlation_id) == (1, "t" * 200, "c" * 200)
    assert_whole(db)


def test_ids_are_time_ordered_version_7(jobs: Session) -> None:
    ids = [jobs.enqueue() for _ in range(5)]
    assert all(job_id.version == 7 for job_id in ids)
    milliseconds = [job_id.int >> 80 for job_id in ids]
    assert milliseconds == sorted(milliseconds)


def test_the_actor_of_the_transaction_is_kept(db: Database, jobs: Session) -> None:
    with jobs.conn.transaction():
        jobs.call("select set_config('windlass.actor', 'ada', true)")
        jobs.enqueue()
    assert db.fetch_value("select actor from windlass_data.job", role="superuser") == "ada"


def test_who_enqueued_is_kept_by_the_name_given_else_by_the_login(db: Database, jobs: Session) -> None:
    batch = '[{"kind": "mail"}]'
    jobs.enqueue(actor="ada")
    jobs.call("select windlass.enqueue_jobs(%s, %s, p_actor => 'bob')", jobs.tenant, batch)
    many = "select windlass.enqueue_many(%s, %s, '[1]', array[%s], 'cy')"
    jobs.call(many, jobs.tenant, '{"kind": "mail"}', uuid4())
    with jobs.conn.transaction():
        jobs.enqueue(actor="dan")
        assert jobs.value("select coalesce(current_setting('windlass.actor', true), '')") == ""
        jobs.enqueue()
    jobs.enqueue(actor="")
    kept = db.fetch("select actor from windlass_data.job order by seq", role="superuser")
    assert [row.actor for row in kept] == ["ada", "bob", "cy", "dan", "windlass_app", "windlass_app"]
    with nothing_changed(db), refused("WL007"):
        jobs.enqueue(actor="a" * 201)


def test_any_json_is_a_payload(jobs: Session, subtests: pytest.Subtests) -> None:
    payloads: list[Any] = [None, 0, "", [], {}, "x", 1.5, 10**300, "\u2028\uffff😀", {"a": [None]}]
    for payload in payloads:
        with subtests.test(payload=payload):
            query = "select job_id from windlass.enqueue_job(%s, 'mail', %s)"
            assert jobs.get(jobs.value(query, jobs.tenant, Jsonb(payload))).payload == payload


NEVER_RUNNABLE: list[tuple[str, dict[str, Any]]] = [
    ("kind", {"kind": None}),
    ("kind", {"kind": ""}),
    ("kind", {"kind": "a b"}),
    ("kind", {"kind": "-a"}),
    ("kind", {"kind": "a\n"}),
    ("kind", {"kind": "a" * 201}),
    ("queue", {"queue": ""}),
    ("queue", {"queue": "a" * 101}),
    ("queue", {"queue": "é"}),
    ("priority", {"priority": 32768}),
    ("priority", {"priority": -32769}),
    ("max_attempts", {"max_attempts": 0}),
    ("max_attempts", {"max_attempts": 32768}),
    ("timeout_ms", {"timeout_ms": 0}),
    ("timeout_ms", {"timeout_ms": -1}),
    ("key", {"key": ""}),
    ("key", {"key": "k" * 501}),
    ("scope", {"key": "k", "scope": "sometimes"}),
    ("run_at", {"run_at": "infinity"}),
    ("run_at", {"run_at": "-infinity"}),
    ("run_at", {"run_at": "10000-01-01Z"}),
    ("run_at", {"run_at": "9999-12-31Z"}),
    ("run_at", {"run_at": "1969-12-31Z"}),
    ("queue", {"queue": "windlass.cluster"}),
    ("queue", {"queue": "windlass.system", "kind": "windlass.redrive"}),
    ("kind", {"kind": "windlass.redrive"}),
    ("trace_id", {"trace_id": "t" * 201}),
    ("correlation_id", {"correlation_id": "c" * 201}),
    ("retry", {"retry": []}),
    ("retry", {"retry": '"fast"'}),
    ("retry", {"retry": {"base": "1"}}),
    ("retry", {"retry": {"base": -1}}),
    ("retry", {"retry": {"base": 1e16}}),
    ("retry", {"retry": {"base": 1e-9}}),
    ("retry", {"retry": {"factor": 0.9}}),
    ("retry", {"retry": {"factor": True}}),
    ("retry", {"retry": {"cap": -1}}),
    ("retry", {"retry": {"cap": {}}}),
    ("retry", {"retry": {"jitter": "half"}}),
    ("retry", {"retry": {"jitter": 1}}),
    ("retry", {"retry": {"bse": 1}}),
]
# Beyond floating point: the first failure would find out, and could then not be recorded.
NEVER_RUNNABLE += [
    ("retry", {"retry": f'{{"{field}": 1e{exponent}}}'})
    for field in ("base", "factor", "cap")
    for exponent in (-310, -400, -5000, 5000)
]


@pytest.mark.parametrize("lane", ["new", "there"])
def test_a_job_that_could_never_run_is_refused(
    db: Database, jobs: Session, subtests: pytest.Subtests, lane: str
) -> None:
    if lane == "there":  # plain jobs go a way of their own then
        jobs.enqueue()
        for queue, kind in (("windlass.cluster", "mail"), ("windlass.system", "windlass.redrive")):
            make = "insert into windlass_data.lane (tenant_id, queue, kind, priority) values (%s, %s, %s, 0)"
            db.execute(make, DEFAULT_TENANT, queue, kind, role="superuser")
    for field, wrong in NEVER_RUNNABLE:
        why = f"^{field} "
        with subtests.test(wrong=wrong), nothing_changed(db), refused("WL007", why):
            jobs.enqueue(**wrong)


def test_text_that_no_json_holds_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    for text in ('{"a": "\\u0000"}', '"\\ud800"', '"\\udc00x"', '{"\\u0000": 1}', "{", "NaN", ""):
        with subtests.test(text=text), nothing_changed(db), pytest.raises(psycopg.DataError):
            jobs.call("select windlass.enqueue_job(%s, 'mail', %s)", DEFAULT_TENANT, text)


def test_nul_in_a_text_is_refused(db: Database, jobs: Session) -> None:
    with nothing_changed(db), pytest.raises(psycopg.DataError):
        jobs.enqueue(key="a\x00b")


def test_an_unknown_tenant_is_not_found(db: Database, jobs: Session) -> None:
    jobs.tenant = UNKNOWN
    with nothing_changed(db), refused("WL001", "there is no tenant"):
        jobs.enqueue()


def test_no_tenant_is_forbidden(db: Database, jobs: Session) -> None:
    with nothing_changed(db), refused("WL005"):
        jobs.call("select windlass.enqueue_job(null, 'mail')")


def test_what_is_not_said_is_as_by_default(db: Database, jobs: Session) -> None:
    """Nulls, as callers write them who say everything."""
    plain = jobs.get(jobs.enqueue())
    said = "p_queue => null, p_priority => null, p_scope => null, p_max_attempts => null, p_actor => null"
    for _ in range(2):
        job = jobs.get(
            jobs.value(f"select job_id from windlass.enqueue_job(%s, 'mail', {said})", jobs.tenant)
        )
        assert (job.queue, job.priority, job.max_attempts) == (
            plain.queue,
            plain.priority,
            plain.max_attempts,
        )
    assert_whole(db)


def test_everything_that_a_plain_job_may_have_is_kept(db: Database, jobs: Session) -> None:
    retry = {"base": 2, "factor": 3, "cap": None, "jitter": "tenth"}
    for place in ("a new lane", "a lane that is there"):
        job = jobs.get(
            jobs.enqueue(
                payload={"in": place},
                retry=retry,
                timeout_ms=7,
                trace_id="t",
                correlation_id="c",
                actor="ada",
                max_attempts=3,
            )
        )
        assert (job.state, job.payload, job.retry, job.timeout_ms) == ("queued", {"in": place}, retry, 7)
        assert (job.trace_id, job.correlation_id, job.max_attempts) == ("t", "c", 3)
    actors = db.fetch("select actor from windlass_data.job", role="superuser")
    assert {row.actor for row in actors} == {"ada"}
    assert_whole(db)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_lone_job_for_a_lane_that_left_the_list_is_found(
    db: Database, jobs: Session, isolation: str
) -> None:
    """Also by a transaction whose snapshot is from before: it still sees the row that is gone."""
    jobs.enqueue()
    jobs.complete(jobs.claim_one())
    with jobs.conn.transaction():
        jobs.call(f"set transaction isolation level {isolation}")
        jobs.value("select count(*) from windlass.jobs")
        db.execute("delete from windlass_data.busy_lane", role="superuser")
        job_id = jobs.enqueue()
    assert jobs.claim_one().job_id == job_id
    assert_whole(db)


@pytest.mark.parametrize("seconds", [-3600, 0])
def test_a_time_that_has_come_is_now(db: Database, jobs: Session, clock: Clock, seconds: int) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(run_at=now + timedelta(seconds=seconds))
    assert jobs.get(job_id).run_at == now + timedelta(seconds=seconds)
    assert jobs.claim_one().job_id == job_id


def test_a_job_is_not_claimed_before_its_time(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(run_at=now + timedelta(seconds=60))
    clock.freeze(now + timedelta(seconds=59, microseconds=999_999))
    assert jobs.claim() == []
    assert jobs.state(job_id) == "queued"
    clock.freeze(now + timedelta(seconds=60))
    assert jobs.claim_one().job_id == job_id
    assert_whole(db)


@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns", "Pacific/Kiritimati"])
def test_no_time_depends_on_the_zone_of_the_session(
    db: Database, jobs: Session, clock: Clock, zone: str
) -> None:
    now = clock.freeze(datetime(2031, 3, 30, 0, 59, 30, tzinfo=UTC))
    jobs.call("select set_config('TimeZone', %s, false)", zone)
    due = now + timedelta(minutes=1)
    soon, later = jobs.enqueue(), jobs.enqueue(run_at=due)
    assert (jobs.get(soon).created_at, jobs.get(later).run_at) == (now, due)
    claimed = jobs.claim_one(lease=30)
    assert (claimed.job_id, claimed.expires_at) == (soon, now + timedelta(seconds=30))
    clock.freeze(due)
    assert jobs.expire() == [(soon, "queued")]
    assert {row.job_id for row in jobs.claim(10)} == {soon, later}


def test_a_rollback_takes_the_job_along(db: Database, jobs: Session) -> None:
    jobs.enqueue("known")
    before = read_tables(db)
    with jobs.conn.transaction(force_rollback=True):
        job_id = jobs.enqueue("new-kind", queue="new-queue", key="k")
        assert jobs.state(job_id) == "queued"
    assert read_tables(db) == before
    with refused("WL001"):
        jobs.get(job_id)


def test_a_savepoint_takes_the_job_along(db: Database, jobs: Session) -> None:
    with jobs.conn.transaction():
        kept = jobs.enqueue()
        with jobs.conn.transaction(force_rollback=True):
            jobs.enqueue()
    assert [row.job_id for row in jobs.claim(10)] == [kept]
    assert_whole(db)


def test_the_callers_own_id_makes_a_repeat_harmless(db: Database, jobs: Session) -> None:
    mine = uuid4()
    assert tuple(jobs.enqueue_row(payload={"n": 1}, id=mine)) == (mine, True)
    with nothing_changed(db):
        assert tuple(jobs.enqueue_row(payload={"n": 1}, id=mine)) == (mine, False)
    with nothing_changed(db), refused("WL002", "the id is taken"):
        jobs.enqueue(payload={"n": 2}, id=mine)
    with nothing_changed(db), refused("WL002", "the id is taken"):
        jobs.enqueue("other", payload={"n": 1}, id=mine)
    assert_whole(db)


@pytest.mark.parametrize(
    "text", ["00000000-0000-0000-0000-000000000000", "f" * 32, "48d47162-6d2d-4fc7-81f1-60e380b55bf4"]
)
def test_an_id_of_any_making_lives_its_life(db: Database, jobs: Session, text: str) -> None:
    mine = UUID(text)
    assert jobs.enqueue(id=mine) == mine
    held = jobs.claim_one()
    assert held.job_id == mine
    assert jobs.complete(held) == []
    assert jobs.state(mine) == "succeeded"
    assert_whole(db)


def test_the_latest_time_is_the_one_that_a_refusal_names(jobs: Session) -> None:
    jobs.enqueue(run_at="9999-12-30 00:00:00Z")
    with refused("WL007", "from 1970-01-01 to 9999-12-30, 0:00 UTC"):
        jobs.enqueue(run_at="9999-12-30 00:00:01Z")
