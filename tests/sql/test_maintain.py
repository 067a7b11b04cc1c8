"""maintain: the tables of the days ahead are there in time, and what has run out is removed."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.operate import bind, call
from tests.sql.steps import NODE, UNKNOWN, Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def maintain(db: Database, role: str = "app", **arguments: Any) -> Any:
    (row,) = call(db, "maintain", role=role, **arguments)
    return row


def days(clock: Clock, first: int, last: int) -> list[date]:
    today = clock.now().astimezone(UTC).date()
    return [today + timedelta(days=n) for n in range(first, last + 1)]


def at_night(clock: Clock, *, days: int) -> None:
    """Stop the clock on another day: no test changes its day half-way."""
    clock.freeze(datetime.now(UTC).replace(hour=3) + timedelta(days=days))


def count(db: Database, table: str) -> int:
    return int(db.fetch_value(f"select count(*) from windlass_data.{table}", role="superuser"))


def test_the_days_ahead_are_made_once(db: Database, clock: Clock) -> None:
    at_night(clock, days=10)
    row = maintain(db)
    assert (row.ran, row.made, row.missing) == (True, days(clock, 0, 3), [])
    again = maintain(db)
    assert (again.ran, again.made, again.missing) == (True, [], [])
    assert maintain(db, days_ahead=5).made == days(clock, 4, 5)


def test_a_lock_that_is_not_free_leaves_a_day_for_later(db: Database, clock: Clock) -> None:
    at_night(clock, days=10)
    reader = db.connect("superuser", autocommit=False)
    reader.execute("select count(*) from windlass_data.attempt")
    row = maintain(db, days_ahead=0)
    assert (row.ran, row.made, row.missing) == (True, [], days(clock, 0, 0))
    reader.commit()
    assert maintain(db, days_ahead=0).made == days(clock, 0, 0)


def test_of_two_at_once_the_second_does_nothing(db: Database, clock: Clock) -> None:
    at_night(clock, days=10)
    first = db.connect(autocommit=False)
    assert first.execute("select made from windlass.maintain()").fetchone() == (days(clock, 0, 3),)
    second = maintain(db)
    assert (second.ran, second.made, second.missing, second.gates) == (False, [], [], None)
    first.rollback()
    assert maintain(db).made == days(clock, 0, 3)


def test_gates_go_when_they_expire(db: Database, clock: Clock, jobs: Session) -> None:
    now = clock.freeze()
    for queue, seconds in (("a", 1), ("b", 2)):
        call(db, "set_gate", queue=queue, reason="so", expires_at=now + timedelta(seconds=seconds))
    call(db, "set_gate", queue="c", reason="so")
    removed = []
    for second in range(3):
        clock.freeze(now + timedelta(seconds=second))
        removed.append(maintain(db).gates)
    assert removed == [0, 1, 1]
    assert [row.queue for row in call(db, "list_gates")] == ["c"]


def test_a_bound_session_removes_only_gates_and_requests_of_its_tenant(
    db: Database, clock: Clock, jobs: Session, other: Session
) -> None:
    now = clock.freeze()
    for side in (jobs, other):
        leave_a_request(db, side, "succeeded")
        call(db, "set_gate", tenant=side.tenant, reason="so", expires_at=now + timedelta(seconds=1))
    call(db, "set_gate", everything=True, reason="so", expires_at=now + timedelta(seconds=1))
    bind(db, "worker", other.tenant)
    clock.freeze(now + timedelta(seconds=2))
    row = maintain(db, "worker")
    assert (row.gates, row.cancel_requests) == (1, 1)
    row = maintain(db, "operator")
    assert (row.gates, row.cancel_requests) == (2, 1)


def leave_a_request(db: Database, jobs: Session, state: str) -> UUID:
    """A job in this state with a cancel request beside it, as a cancel leaves it that a success overtakes."""
    job_id = jobs.enqueue(max_attempts=1)
    held: Any = None if state == "queued" else jobs.claim_one()
    if state == "dead":
        jobs.fail(held)
    elif state in ("succeeded", "skipped"):
        jobs.complete(held, states=[state])
    elif state == "canceled":
        jobs.fail(held, outcomes=["canceled"])
    assert jobs.state(job_id) == state
    db.execute(
        "insert into windlass_data.cancel_request (tenant_id, job_id, requested_at) "
        "values (%s, %s, windlass_data.clock())",
        jobs.tenant,
        job_id,
        role="superuser",
    )
    return job_id


@pytest.mark.parametrize("state", ["succeeded", "dead", "canceled", "skipped"])
def test_a_cancel_request_goes_when_the_job_is_finished(db: Database, jobs: Session, state: str) -> None:
    leave_a_request(db, jobs, state)
    assert maintain(db).cancel_requests == 1
    assert count(db, "cancel_request") == 0
    assert_whole(db)


def test_a_cancel_request_goes_when_the_job_is_gone(db: Database, jobs: Session) -> None:
    job_id = leave_a_request(db, jobs, "succeeded")
    for table, column in (("attempt", "job_id"), ("job", "id")):
        db.execute(f"delete from windlass_data.{table} where {column} = %s", job_id, role="superuser")
    assert maintain(db).cancel_requests == 1


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_cancel_request_stays_while_it_can_still_be_heeded(db: Database, jobs: Session, state: str) -> None:
    """A job that was put back in line at the moment of the cancel is told in its next attempt."""
    job_id = leave_a_request(db, jobs, state)
    assert maintain(db).cancel_requests == 0
    if state == "queued":
        held = jobs.claim_one()
        assert jobs.renew(held.token) == [(held.token, job_id, "cancel_requested")]


def heartbeat(db: Database, node: UUID) -> None:
    call(db, "heartbeat_node", node=node, name=f"node {node}")


def test_a_silent_node_is_sent_no_more_notices(db: Database, clock: Clock, jobs: Session) -> None:
    now = clock.freeze()
    silent, alive, unheard = NODE, uuid4(), UNKNOWN
    heartbeat(db, silent)
    clock.freeze(now + timedelta(seconds=30))
    heartbeat(db, alive)
    for node in (silent, alive, unheard):
        Session(jobs.conn, node=node).claim(1, wait=True)
    clock.freeze(now + timedelta(seconds=61))
    assert maintain(db).waiting == 2
    assert db.fetch("select node_id from windlass_data.waiting", role="superuser") == [(alive,)]


def test_nodes_go_a_week_after_they_stopped_or_fell_silent(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    stopped, silent, alive = uuid4(), uuid4(), uuid4()
    for node in (stopped, silent, alive):
        heartbeat(db, node)
    call(db, "stop_node", node=stopped)
    clock.freeze(now + timedelta(days=6))
    heartbeat(db, alive)
    assert maintain(db).nodes == 0
    clock.freeze(now + timedelta(days=7))
    assert maintain(db).nodes == 2
    assert db.fetch("select id from windlass_data.node", role="superuser") == [(alive,)]
    clock.freeze(now + timedelta(days=7, minutes=1))
    assert maintain(db, keep_nodes=timedelta(days=1)).nodes == 1


@pytest.mark.parametrize("role", ["worker", "operator"])
def test_workers_and_operators_maintain(db: Database, clock: Clock, role: str) -> None:
    at_night(clock, days=10)
    assert maintain(db, role).made == days(clock, 0, 3)


@pytest.mark.parametrize("role", ["producer", "reader", "outsider"])
def test_others_do_not(db: Database, role: str) -> None:
    with refused("42501"):
        maintain(db, role)


@pytest.mark.parametrize(
    "bad",
    [{"days_ahead": -1}, {"days_ahead": 31}, {"days_ahead": None}]
    + [{"keep_nodes": keep} for keep in (None, timedelta(), timedelta(days=-1), timedelta(days=40000))],
)
def test_nonsense_is_refused(db: Database, bad: dict[str, Any]) -> None:
    with nothing_changed(db), refused("WL007"):
        maintain(db, **bad)
