"""prune_jobs: finished jobs go when their keep has passed, whole days at a time; no other job ever goes."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.days import ENDS, Past, prune
from tests.sql.operate import bind, call, events
from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


@pytest.fixture
def past(db: Database, clock: Clock, jobs: Session) -> Past:
    return Past(db, clock, jobs)


def test_a_day_goes_when_all_its_jobs_are_past_their_keep(db: Database, past: Past) -> None:
    past.make(40, 20)
    gone = [past.end(40, how) for how in ENDS]
    stays = past.end(20)
    row = past.prune()
    assert (row.dropped, row.busy, row.removed, row.more) == ([past.day(40)], [], 0, True)
    assert not past.has_tables(40)
    assert past.listed() == {stays}
    for job_id in gone:
        with refused("WL001"):
            past.jobs.get(job_id)
    assert tuple(past.prune()) == ([], [], 0, False)
    assert past.has_tables(20)
    assert_whole(db)


def keep_waiting(past: Past) -> UUID:
    return past.enqueue(40)


def keep_scheduled(past: Past) -> UUID:
    return past.enqueue(40, run_at=past.noon(-7))


def keep_running(past: Past) -> UUID:
    job_id = past.enqueue(40)
    past.claim(job_id)
    return job_id


def keep_running_since_then(past: Past) -> UUID:
    """Its lease ran out long ago and nobody has looked since."""
    job_id = past.enqueue(40)
    with past.at(40):
        past.claim(job_id, lease=1)
    return job_id


def keep_retrying(past: Past) -> UUID:
    job_id = past.enqueue(40)
    with past.at(40):
        past.jobs.fail(past.claim(job_id), delays=[315360000])
    assert past.jobs.get(job_id).counted == 1
    return job_id


def keep_redriven(past: Past) -> UUID:
    job_id = past.end(40, "dead")
    assert len(call(past.db, "redrive_jobs", tenant=past.jobs.tenant, jobs=[job_id])) == 1
    return job_id


def keep_late(how: str) -> Any:
    return lambda past: past.end(40, how, finished=10)


def keep_member_of_a_lease(past: Past) -> UUID:
    """Finished in time, in a lease of which another job runs on: the lease will be settled by its attempt."""
    first, second = (past.enqueue(40, kind="pair") for _ in range(2))
    with past.at(40):
        held = past.jobs.claim(2, kinds=["pair"], lease=86400)
        past.jobs.complete(next(h for h in held if h.job_id == first))
    assert past.jobs.state(second) == "running"
    return first


KEEPERS = {
    "waiting": keep_waiting,
    "scheduled": keep_scheduled,
    "running": keep_running,
    "running since then": keep_running_since_then,
    "retrying": keep_retrying,
    "redriven": keep_redriven,
    "member of a lease": keep_member_of_a_lease,
    **{f"{how} late": keep_late(how) for how in ENDS},
}


@pytest.mark.parametrize("why", KEEPERS)
def test_a_job_that_must_be_kept_outlives_its_day(db: Database, past: Past, why: str) -> None:
    past.make(40)
    gone = past.end(40)
    kept = KEEPERS[why](past)
    before, listed = past.tell(kept), past.listed()
    past.prune_all()
    assert not past.has_tables(40)
    assert past.tell(kept) == before
    assert past.listed() == listed - {gone}
    assert_whole(db)


@pytest.mark.parametrize("how", [how for how in ENDS if how != "succeeded"])
def test_each_state_has_its_own_keep(db: Database, past: Past, how: str) -> None:
    """The day goes with what succeeded in it; a job of another state is moved and kept for longer."""
    past.make(40)
    past.end(40)
    kept = past.end(40, how)
    before = past.tell(kept)
    past.prune_all(**{ENDS[how]: 50})
    assert not past.has_tables(40)
    assert past.tell(kept) == before
    past.prune_all()
    assert past.listed() == set()
    assert_whole(db)


@pytest.mark.parametrize("how", ENDS)
def test_a_shorter_keep_removes_only_that_state(db: Database, past: Past, how: str) -> None:
    past.make(40)
    made = {other: past.end(40, other) for other in ENDS}
    keeps = {state: 30 if state == ENDS[how] else None for state in ENDS.values()}
    past.prune_all(**keeps)
    assert past.listed() == {job_id for other, job_id in made.items() if ENDS[other] != ENDS[how]}
    assert_whole(db)


def test_without_a_keep_jobs_are_kept_for_ever(db: Database, past: Past) -> None:
    past.make(400)
    for how in ENDS:
        past.end(400, how)
    with nothing_changed(db):
        past.prune_all(succeeded=None, canceled=None, skipped=None, dead=None)


def test_a_keep_counts_from_the_end_of_the_job(db: Database, past: Past) -> None:
    past.make(40)
    job_id = past.end(40, finished=31)
    past.prune_all(succeeded=32)
    assert past.jobs.state(job_id) == "succeeded"
    past.prune_all()
    assert past.listed() == set()


def test_jobs_that_outlived_their_day_live_on(db: Database, past: Past) -> None:
    """Claimed, completed, failed, canceled, rescheduled, redriven from where they were moved to."""
    past.make(40)
    jobs = past.jobs
    running, failing, asked = (past.enqueue(40) for _ in range(3))
    held, failed, told = (past.claim(job_id) for job_id in (running, failing, asked))
    waiting, late, unwanted = past.enqueue(40), past.enqueue(40, run_at=past.noon(-7)), past.enqueue(40)
    dead = past.end(40, "dead", finished=10)
    assert past.prune().dropped == [past.day(40)]

    assert jobs.renew(held.token, failed.token) == []
    assert jobs.complete(held, results=[{"ok": True}]) == []
    assert [row.state for row in jobs.fail(failed, delays=[0])] == ["queued"]
    assert past.claim(failing).version == 2
    assert jobs.cancel(asked) == "running"
    assert [row.state for row in jobs.release(told)] == ["canceled"]
    assert jobs.complete(past.claim(waiting)) == []
    call(db, "reschedule_job", tenant=jobs.tenant, job=late)
    assert jobs.complete(past.claim(late)) == []
    assert jobs.cancel(unwanted) == "canceled"
    assert len(call(db, "redrive_jobs", tenant=jobs.tenant, jobs=[dead])) == 1
    assert past.claim(dead).version == 2
    states = {job_id: jobs.state(job_id) for job_id in past.listed()}
    assert states == {
        running: "succeeded",
        failing: "running",
        asked: "canceled",
        waiting: "succeeded",
        late: "succeeded",
        unwanted: "canceled",
        dead: "running",
    }
    assert_whole(db)


def test_keys_are_freed_with_their_jobs_and_only_with_them(db: Database, past: Past) -> None:
    past.make(40)
    gone = past.end(40, key="a", kind="mail")
    kept = past.enqueue(40, key="b", kind="mail")
    dropped, removed = past.prune_all()
    assert (dropped, removed) == ([past.day(40)], 0)
    again = past.jobs.enqueue_row("mail", key="a")
    assert again.created
    assert again.job_id != gone
    assert tuple(past.jobs.enqueue_row("mail", key="b")) == (kept, False)
    assert_whole(db)


def test_many_keys_are_freed_a_few_at_a_time(db: Database, past: Past) -> None:
    past.make(40)
    for n in range(5):
        past.end(40, key=f"key{n}")
    rows = [past.prune(limit=2) for _ in range(4)]
    assert [row.dropped for row in rows] == [[], [], [], [past.day(40)]]
    assert all(row.more for row in rows)
    assert_whole(db)


def test_events_are_audit_and_stay(db: Database, past: Past) -> None:
    past.make(40)
    job_id = past.end(40, "canceled")
    past.prune_all()
    assert past.listed() == set()
    assert events(db, past.jobs.tenant, "action", "job_id") == [("job.cancel", job_id)]


def test_after_forty_days_everything_of_today_goes(db: Database, past: Past, clock: Clock) -> None:
    """With ids as the database makes them, and the days that nobody used."""
    jobs = past.jobs
    jobs.enqueue("done")
    jobs.complete(jobs.claim_one())
    waiting = jobs.enqueue("waiting")
    clock.advance(timedelta(days=40))
    assert len(call(db, "maintain")[0].made) == 4
    dropped, removed = past.prune_all()
    assert (len(dropped), removed) == (4, 0)
    assert past.listed() == {waiting}
    later = jobs.enqueue("later")
    assert {held.job_id for held in jobs.claim(5)} == {waiting, later}
    assert_whole(db)


def test_jobs_of_all_tenants_go_and_stay_alike(
    db: Database, past: Past, other: Session, clock: Clock
) -> None:
    theirs = Past(db, clock, other)
    past.make(40)
    for side in (past, theirs):
        side.end(40, key="k")
    kept = [side.enqueue(40) for side in (past, theirs)]
    past.prune_all()
    assert not past.has_tables(40)
    assert [side.listed() for side in (past, theirs)] == [{job_id} for job_id in kept]
    assert_whole(db)


def test_a_bound_session_removes_its_own_jobs_and_no_day(
    db: Database, past: Past, other: Session, clock: Clock
) -> None:
    theirs = Past(db, clock, other)
    past.make(40)
    mine = past.end(40)
    for how in ENDS:
        theirs.end(40, how)
    bind(db, "worker", other.tenant)
    row = prune(db.connection("worker"))
    assert (row.dropped, row.removed) == ([], len(ENDS))
    assert theirs.listed() == set()
    assert past.listed() == {mine}
    assert past.has_tables(40)
    assert_whole(db)


@pytest.mark.parametrize("role", ["worker", "operator"])
def test_workers_and_operators_prune(db: Database, past: Past, role: str) -> None:
    past.make(40)
    past.end(40)
    assert prune(db.connection(role)).dropped == [past.day(40)]


@pytest.mark.parametrize("role", ["producer", "reader", "outsider"])
def test_others_do_not(db: Database, past: Past, role: str) -> None:
    with refused("42501"):
        prune(db.connection(role))


@pytest.mark.parametrize(
    "bad", [{"limit": 0}, {"limit": None}, {"limit": 100001}, {"dead": -1}, {"succeeded": 40000}]
)
def test_nonsense_is_refused(db: Database, past: Past, bad: dict[str, Any]) -> None:
    past.make(40)
    past.end(40)
    with nothing_changed(db), refused("WL007"):
        past.prune(**bad)


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_an_old_snapshot_is_refused(db: Database, past: Past, level: str) -> None:
    """It would not show a job that was revived after it was taken."""
    past.make(40)
    past.end(40)
    conn = db.connect()
    conn.execute(f"set default_transaction_isolation = '{level}'".encode())
    with nothing_changed(db), refused("WL007", "read committed"):
        prune(conn)
