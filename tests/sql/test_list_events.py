"""list_events: what was done and how jobs ended, a page at a time, of one tenant or of the installation."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.operate import NIL, bind, call, kill
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def read_all(db: Database, tenant: UUID = DEFAULT_TENANT, limit: int = 2, **filters: Any) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = call(db, "list_events", tenant=tenant, limit=limit, cursor=cursor, **filters)
        found += [row for row in page if row.id is not None]
        if not page or (len(page) < limit and page[-1].id is not None):
            return found
        cursor = page[-1].cursor


@pytest.fixture
def told(db: Database, jobs: Session) -> dict[str, UUID]:
    """One job for each end, and two things done by hand."""
    canceled, dead = jobs.enqueue("cancel"), kill(jobs, kind="die")
    jobs.cancel(canceled, "not needed", "ada")
    ends = {}
    for state in ("succeeded", "skipped"):
        ends[state] = jobs.enqueue(state)
        jobs.complete(
            jobs.claim_one(kinds=[state]), results=[{"reason": "seen before"}], states=[state], costs=[4]
        )
    call(db, "set_gate", tenant=DEFAULT_TENANT, queue="mail", reason="fire", actor="eve")
    jobs.enqueue("waits")
    jobs.enqueue("runs")
    jobs.claim_one(kinds=["runs"])
    return {"canceled": canceled, "dead": dead, **ends}


def test_deeds_and_ends_by_their_ids_each_once(db: Database, told: dict[str, UUID]) -> None:
    for limit in (1, 2, 5, 50):
        rows = read_all(db, limit=limit)
        assert sorted((row.action, row.job_id) for row in rows if row.job_id) == sorted(
            [("job.cancel", told["canceled"]), *((f"job.{state}", job) for state, job in told.items())]
        )
        assert [row.action for row in rows if row.job_id is None] == ["gate.set"]
        assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)


def test_a_row_says_who_when_and_why(db: Database, jobs: Session, told: dict[str, UUID]) -> None:
    by_action = {row.action: row for row in read_all(db)}
    gate, cancel, canceled = (by_action[name] for name in ("gate.set", "job.cancel", "job.canceled"))
    assert (gate.actor, gate.reason, gate.details["queue"]) == ("eve", "fire", "mail")
    assert (cancel.actor, cancel.reason) == ("ada", "not needed")
    assert (canceled.actor, canceled.reason) == ("ada", "not needed")
    dead, done = by_action["job.dead"], by_action["job.succeeded"]
    assert (dead.actor, dead.reason, dead.at) == (
        str(NODE),
        "no such address",
        jobs.get(told["dead"]).finished_at,
    )
    assert dead.details == {"attempt": 1, "outcome": "failed", "error": "ValueError"}
    assert done.details == {"attempt": 1, "outcome": "succeeded", "cost_cents": 4}
    assert (done.reason, by_action["job.skipped"].reason) == (None, "seen before")


def test_a_job_whose_worker_vanished_was_ended_by_windlass(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue(max_attempts=1)
    jobs.claim_one(lease=1)
    clock.advance(2)
    jobs.expire()
    (row,) = read_all(db)
    assert (row.action, row.actor, row.details["outcome"]) == ("job.dead", "windlass", "crashed")


def test_a_death_outlasts_the_redrive_and_the_job(db: Database, jobs: Session) -> None:
    job_id = kill(jobs)
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, everything=True)
    jobs.fail(jobs.claim_one())
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, everything=True, max_attempts=1)
    jobs.fail(jobs.claim_one())
    told = ["job.dead", "job.redrive", "job.dead", "job.redrive", "job.dead"]
    rows = read_all(db)
    assert [row.action for row in rows] == told, "each death once"
    assert {"died_at", "version"} <= set(rows[1].details)
    assert [row.details["attempt"] for row in rows[::2]] == [3, 2, 1]
    (done,) = call(
        db, "prune_jobs", **{f"keep_{end}": "0 s" for end in ("succeeded", "canceled", "skipped", "dead")}
    )
    assert done.removed == 1
    assert [row.action for row in read_all(db)] == told
    assert {row.job_id for row in read_all(db)} == {job_id}


def test_the_facts_about_one_job(db: Database, jobs: Session, told: dict[str, UUID]) -> None:
    for state, job_id in told.items():
        deeds = {"job.cancel"} if state == "canceled" else set()
        assert {row.action for row in read_all(db, job=job_id, limit=1)} == deeds | {f"job.{state}"}
    assert read_all(db, job=told["dead"], actions=["job.cancel"]) == []
    assert read_all(db, job=UNKNOWN) == []


def test_an_event_knows_the_login_and_its_place(db: Database, told: dict[str, UUID]) -> None:
    by_action = {row.action: row for row in read_all(db)}
    assert (by_action["job.cancel"].login, by_action["job.cancel"].actor) == ("windlass_app", "ada")
    assert by_action["job.cancel"].place is not None
    assert by_action["job.succeeded"].place is None, "it is read from its attempt"


def test_filters(db: Database, jobs: Session, told: dict[str, UUID], clock: Clock) -> None:
    assert [row.action for row in read_all(db, actor="eve")] == ["gate.set"]
    assert {row.action for row in read_all(db, actor="ada")} == {"job.cancel", "job.canceled"}
    for state, job_id in told.items():
        assert [row.job_id for row in read_all(db, actions=[f"job.{state}"])] == [job_id]
    both = read_all(db, actions=["gate.set", "job.dead"])
    assert {row.action for row in both} == {"gate.set", "job.dead"}
    assert read_all(db, actions=["nothing"]) == []
    before = clock.now()
    clock.advance(timedelta(days=1))
    later = jobs.enqueue()
    jobs.cancel(later)
    after: dict[str, Any] = {"from": before + timedelta(hours=1)}
    assert {row.job_id for row in read_all(db, **after)} == {later}
    assert later not in {row.job_id for row in read_all(db, to=before + timedelta(hours=1))}


def test_a_page_that_finds_little_ends_with_a_cursor_to_go_on_from(db: Database) -> None:
    call(db, "set_gate", tenant=DEFAULT_TENANT, actor="rare")
    db.execute(
        "insert into windlass_data.event (tenant_id, at, actor, action) "
        "select %s, clock_timestamp(), 'busy', 'job.note' from generate_series(1, 25000)",
        DEFAULT_TENANT,
        role="superuser",
    )
    first = call(db, "list_events", tenant=DEFAULT_TENANT, actor="rare")
    assert [(row.id, row.cursor is None) for row in first] == [(None, False)]
    second = call(db, "list_events", tenant=DEFAULT_TENANT, actor="rare", cursor=first[0].cursor)
    assert [row.action for row in second] == ["gate.set"]


def test_the_installation_has_an_audit_of_its_own(db: Database, told: dict[str, UUID]) -> None:
    call(db, "set_queue", queue="q", mode="strict", actor="root")
    call(db, "set_gate", everything=True, actor="root", reason="all stop")
    assert sorted(row.action for row in read_all(db, NIL)) == ["gate.set", "queue.set"]
    assert "queue.set" not in {row.action for row in read_all(db)}


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"cursor": "x"}, {"cursor": "r.1.1"}])
def test_bad_input_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    with refused("WL007"):
        call(db, "list_events", tenant=DEFAULT_TENANT, **wrong)


def test_other_tenants_and_the_installation_are_closed_to_a_bound_role(
    db: Database, jobs: Session, other: Session, told: dict[str, UUID]
) -> None:
    theirs = kill(other)
    assert [row.job_id for row in read_all(db, OTHER_TENANT)] == [theirs]
    bind(db, "reader", OTHER_TENANT)
    rows = call(db, "list_events", tenant=OTHER_TENANT, role="reader")
    assert {row.action for row in rows} == {"role.bind", "job.dead"}
    for tenant in (DEFAULT_TENANT, NIL, UNKNOWN, None):
        with refused("WL005"):
            call(db, "list_events", tenant=tenant, role="reader")


def test_a_session_with_two_bindings_sees_not_even_the_installation(
    db: Database, other: Session, told: dict[str, UUID]
) -> None:
    call(db, "set_queue", queue="q", mode="strict")
    db.execute("grant test_operator to test_reader", role="superuser")
    try:
        bind(db, "reader", DEFAULT_TENANT)
        bind(db, "operator", OTHER_TENANT)
        conn = db.connect("reader")
        conn.execute("set role test_operator")
        for tenant in (DEFAULT_TENANT, OTHER_TENANT, NIL):
            with refused("WL005"):
                conn.execute("select * from windlass.list_events(%s)", [tenant])
        assert conn.execute("select * from windlass.events").fetchall() == []
    finally:
        db.execute("revoke test_operator from test_reader", role="superuser")
