"""One job per key at a time, in order: whatever becomes of those before it."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import Session, Word, refused
from tests.sql.whole import assert_whole
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)


def claimed(session: Session, limit: int = 10, lease: float = 30) -> list[UUID]:
    return [row.job_id for row in session.claim(limit, lease=lease)]


def test_jobs_with_one_key_run_one_at_a_time_in_order(db: Database, jobs: Session) -> None:
    mine = [jobs.enqueue(concurrency_key="acme") for _ in range(3)]
    theirs = jobs.enqueue(concurrency_key="globex")
    free = jobs.enqueue()
    assert jobs.state(mine[1]) == "queued"
    held = {row.job_id: row for row in jobs.claim(10)}
    assert set(held) == {mine[0], theirs, free}
    assert claimed(jobs) == []
    jobs.complete(held[mine[0]])
    (second,) = jobs.claim(10)
    assert second.job_id == mine[1]
    assert_whole(db)
    jobs.complete(second)
    assert claimed(jobs) == [mine[2]]


def test_jobs_of_different_keys_run_in_the_order_of_priority_and_enqueueing(jobs: Session) -> None:
    plain = [jobs.enqueue(concurrency_key=f"customer {n}") for n in range(20)]
    urgent = jobs.enqueue(concurrency_key="customer 99", priority=1)
    more = [row.job_id for row in jobs.enqueue_many(
        [{"kind": "mail", "payload": {}, "concurrency_key": f"customer {n}"} for n in range(20, 40)]
    )]  # fmt: skip
    assert claimed(jobs, 50) == [urgent, *plain, *more]


def test_nobody_is_let_in_before_one_that_is_ahead_whatever_limits_they_say(jobs: Session) -> None:
    held = [jobs.enqueue(concurrency_key="a", concurrency_limit=1)]
    (first,) = jobs.claim(10)
    assert first.job_id == held[0]
    older = jobs.enqueue(concurrency_key="a", concurrency_limit=1)
    newer = [jobs.enqueue(concurrency_key="a", concurrency_limit=3) for _ in range(3)]
    assert claimed(jobs) == []
    jobs.complete(first)
    assert claimed(jobs) == [older, *newer[:2]], "the newer ones have room beside it"


def test_a_job_keeps_its_turn_until_it_has_ended(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    first = jobs.enqueue(concurrency_key="a", max_attempts=3)
    second = jobs.enqueue(concurrency_key="a")
    jobs.fail(jobs.claim_one(), delays=[60])
    assert claimed(jobs) == [], "one that waits to be tried again still has its turn"
    clock.advance(61)
    jobs.release(jobs.claim_one())
    assert claimed(jobs, lease=10) == [first]
    clock.advance(11)
    assert claimed(jobs) == [first], "a crash does not pass the turn on"
    jobs.cancel(first)
    (row,) = db.fetch("select id from windlass_data.lease", role="superuser")
    jobs.call("select windlass.fail_jobs(%s, %s, p_outcomes => '{canceled}')", [row.id], [first])
    assert claimed(jobs) == [second]
    assert_whole(db)


def test_death_and_cancellation_pass_the_turn_on(db: Database, jobs: Session) -> None:
    first, second, third, fourth = (jobs.enqueue(concurrency_key="a", max_attempts=1) for _ in range(4))
    jobs.fail(jobs.claim_one())
    assert jobs.state(first) == "dead"
    jobs.cancel(third)
    held = jobs.claim_one()
    assert held.job_id == second
    jobs.release(held)
    jobs.cancel(second)
    assert claimed(jobs) == [fourth]
    assert_whole(db)


def test_a_redriven_job_lines_up_again(db: Database, jobs: Session) -> None:
    first = jobs.enqueue(concurrency_key="a", max_attempts=1)
    jobs.fail(jobs.claim_one())
    second = jobs.enqueue(concurrency_key="a")
    held = jobs.claim_one()
    jobs.call("select windlass.redrive_jobs(%s, %s)", jobs.tenant, [first])
    assert_whole(db)
    assert claimed(jobs) == []
    jobs.complete(held)
    assert held.job_id == second
    assert claimed(jobs) == [first]
    assert_whole(db)


def test_a_scheduled_job_lines_up_when_it_is_due(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    late = jobs.enqueue(concurrency_key="a", run_at=NOON + timedelta(seconds=60))
    soon = jobs.enqueue(concurrency_key="a", run_at=NOON + timedelta(seconds=30))
    now = jobs.enqueue(concurrency_key="a")
    held = jobs.claim_one(lease=300)
    assert held.job_id == now
    clock.advance(90)
    assert claimed(jobs) == []
    assert_whole(db)
    jobs.complete(held)
    last = jobs.claim_one()
    assert last.job_id == soon
    jobs.complete(last)
    assert claimed(jobs) == [late]
    assert_whole(db)


def test_priority_decides_before_the_place_in_line(jobs: Session) -> None:
    jobs.enqueue(concurrency_key="a")
    low = jobs.enqueue(concurrency_key="a")
    high = jobs.enqueue(concurrency_key="a", priority=5)
    held = jobs.claim_one()
    if held.job_id == high:  # all three were in line before the first look
        jobs.complete(held)
        jobs.complete(jobs.claim_one())
        assert claimed(jobs) == [low]


def test_another_time_or_priority(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    first, second, third = (jobs.enqueue(concurrency_key="a") for _ in range(3))
    held = jobs.claim_one()
    jobs.call("select windlass.reschedule_job(%s, %s, p_priority => 3)", jobs.tenant, third)
    assert_whole(db)
    jobs.call("select windlass.reschedule_job(%s, %s, %s)", jobs.tenant, second, NOON + timedelta(hours=1))
    assert_whole(db)
    jobs.complete(held)
    held = jobs.claim_one()
    assert (first, held.job_id) == (first, third)
    jobs.complete(held)
    assert claimed(jobs) == []
    clock.advance(3600)
    assert claimed(jobs) == [second]
    assert_whole(db)


def test_as_many_at_a_time_as_were_declared(jobs: Session) -> None:
    many = [jobs.enqueue(concurrency_key="a", concurrency_limit=3) for _ in range(7)]
    held = jobs.claim(10)
    assert [row.job_id for row in held] == many[:3]
    jobs.complete(*held[:2])
    assert claimed(jobs) == many[3:5]


def test_tenants_and_kinds_have_keys_of_their_own(jobs: Session, other: Session) -> None:
    jobs.enqueue(concurrency_key="a")
    jobs.enqueue("report", concurrency_key="a")
    other.enqueue(concurrency_key="a")
    assert len(jobs.claim(10)) == 3


def test_an_enqueue_waits_for_nobody_who_has_the_same_key(db: Database, jobs: Session) -> None:
    """And what he wrote in between is not forgotten, whoever commits last."""
    open_one = Session(db.connect(autocommit=False))
    first = open_one.enqueue(concurrency_key="a")
    second = jobs.enqueue(concurrency_key="a")
    held = jobs.claim_one()
    assert held.job_id == second
    third = Session(db.connect(autocommit=False))
    late = third.enqueue(concurrency_key="a")
    jobs.complete(held)
    assert claimed(jobs) == []
    open_one.conn.commit()
    (row,) = jobs.claim(10)
    assert row.job_id == first
    jobs.complete(row)
    third.conn.commit()
    assert claimed(jobs) == [late]
    assert_whole(db)


def test_two_claims_at_once_give_one_turn(db: Database, jobs: Session) -> None:
    jobs.enqueue(concurrency_key="a")
    jobs.enqueue(concurrency_key="a")
    first = Session(db.connect(autocommit=False))
    second = Session(db.connect(autocommit=False))
    assert len(first.claim(10)) == 1
    assert second.claim(10) == []
    second.conn.commit()
    first.conn.commit()
    assert claimed(jobs) == []
    assert_whole(db)


def test_a_finish_in_the_handlers_transaction_passes_the_turn_on(db: Database, jobs: Session) -> None:
    jobs.enqueue(concurrency_key="a")
    second = jobs.enqueue(concurrency_key="a")
    held = jobs.claim_one()
    jobs.finish(held)
    jobs.complete(held, tenants=[jobs.tenant])  # as the worker reports it afterwards
    assert claimed(jobs) == [second]


@pytest.mark.parametrize("last", ["finished", "other"])
def test_a_finish_that_is_never_reported_passes_the_turn_on(db: Database, jobs: Session, last: str) -> None:
    """A refused word settles the lease, which goes with that or with its last job; then the worker dies."""
    first, other, second = (jobs.enqueue(concurrency_key=key) for key in ("a", "b", "a"))
    finished, held = jobs.claim(10)
    assert (finished.job_id, held.job_id, finished.token) == (first, other, held.token)
    if last == "finished":
        jobs.fail(held, delays=[600])
    jobs.finish(finished)
    assert jobs.complete(Word(held.token, second)) == [(second, "lease_lost")]
    if last == "other":
        assert jobs.complete(held) == []
    assert db.fetch_value("select count(*) from windlass_data.lease", role="superuser") == 0
    assert claimed(jobs) == [second]
    assert_whole(db)


def test_an_idempotency_key_beside_it(db: Database, jobs: Session) -> None:
    first = jobs.enqueue(key="k", concurrency_key="a", scope="active")
    assert jobs.enqueue_row(key="k", concurrency_key="a", scope="active").created is False
    jobs.complete(jobs.claim_one())
    again = jobs.enqueue_row(key="k", concurrency_key="a", scope="active")
    assert (again.created, again.job_id != first) == (True, True)
    assert claimed(jobs) == [again.job_id]
    assert_whole(db)


@pytest.mark.parametrize(
    "said",
    [
        {"concurrency_key": ""},
        {"concurrency_key": "x" * 501},
        {"concurrency_key": "a", "concurrency_limit": 0},
        {"concurrency_key": "a", "concurrency_limit": 1001},
        {"concurrency_limit": 2},
    ],
)
def test_bad_keys_are_refused(db: Database, jobs: Session, said: dict[str, Any]) -> None:
    with refused("WL007"):
        jobs.enqueue(**said)
    assert db.fetch("select id from windlass_data.job", role="superuser") == []


def test_a_bound_worker_is_not_held_up_by_what_is_due_of_others(
    db: Database, jobs: Session, other: Session, clock: Clock
) -> None:
    clock.freeze(NOON)
    for _ in range(120):
        other.enqueue(run_at=NOON + timedelta(seconds=1))
    mine = jobs.enqueue(concurrency_key="a", run_at=NOON + timedelta(seconds=2))
    clock.advance(5)
    db.execute("select windlass.bind_role('test_worker', %s)", jobs.tenant, role="owner")
    worker = Session(db.connect("worker"))
    assert claimed(worker) == [mine]
    db.execute("select windlass.unbind_role('test_worker')", role="owner")


def test_held_jobs_of_other_keys_hold_up_no_key(db: Database, jobs: Session) -> None:
    """However many: what cannot be served steps back behind what was not looked at yet."""
    many = [{"kind": "mail", "payload": {}, "concurrency_key": f"held {n}"} for n in range(230)]
    held = [row.job_id for row in jobs.enqueue_many(many)]
    free = jobs.enqueue(concurrency_key="free")
    somebody = db.connect("superuser", autocommit=False)
    somebody.execute("select from windlass_data.job where id = any (%s) for update", (held,))
    assert {job for _ in range(4) for job in claimed(jobs)} == {free}
    later = jobs.enqueue(concurrency_key="later")
    assert claimed(jobs) == [later]
    somebody.commit()
    taken = {job for _ in range(40) for job in claimed(jobs)}
    assert taken == set(held)
    assert_whole(db)


def test_a_job_with_a_key_is_never_written_where_all_claims_look(db: Database, jobs: Session) -> None:
    """It would have to be taken out again, in the same breath."""
    counted = "select n_tup_ins, n_tup_del from pg_stat_xact_user_tables where relname = 'ready'"
    conn = db.connect("superuser", autocommit=False)
    Session(conn).enqueue(concurrency_key="a")
    assert tuple(conn.execute(counted).fetchone() or ()) == (0, 0)
    conn.commit()
    assert len(jobs.claim(10)) == 1
