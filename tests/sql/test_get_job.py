"""get_job: one job as the outside sees it, in each of its states."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

ERROR = {"type": "ValueError", "message": "no"}


def test_a_job_from_its_first_claim_to_its_success(db: Database, jobs: Session, clock: Clock) -> None:
    start = clock.freeze()
    job_id = jobs.enqueue(trace_id="t", correlation_id="c")
    held = jobs.claim_one(lease=30)
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted, job.node_id) == ("running", 1, 0, jobs.node)
    assert (job.started_at, job.finished_at) == (start, None)
    assert job.lease_expires_at == start + timedelta(seconds=30)

    clock.freeze(start + timedelta(seconds=5))
    jobs.fail(held, errors=[ERROR], delays=[60], costs=[7])
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted, job.error) == ("queued", 1, 1, ERROR)
    assert job.run_at == start + timedelta(seconds=65)
    assert (job.started_at, job.finished_at, job.node_id) == (start, None, None)

    clock.freeze(start + timedelta(seconds=65))
    held = jobs.claim_one()
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted) == ("running", 2, 1)
    assert job.started_at == start + timedelta(seconds=65)

    clock.freeze(start + timedelta(seconds=70))
    jobs.complete(held, results=[{"sent": 3}], costs=[5])
    job = jobs.get(job_id)
    assert (job.state, job.version, job.counted) == ("succeeded", 2, 2)
    assert (job.result, job.error, job.cost_cents) == ({"sent": 3}, None, 12)
    assert job.finished_at == start + timedelta(seconds=70)
    assert (job.trace_id, job.correlation_id) == ("t", "c")
    assert (job.node_id, job.lease_expires_at, job.cancel_requested) == (None, None, False)


def test_a_skipped_job_keeps_its_result(jobs: Session) -> None:
    job_id = jobs.enqueue()
    jobs.complete(jobs.claim_one(), states=["skipped"], results=["nothing to do"])
    job = jobs.get(job_id)
    assert (job.state, job.result, job.counted) == ("skipped", "nothing to do", 1)


def test_a_dead_job_says_why(jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(max_attempts=1)
    jobs.fail(jobs.claim_one(), errors=[ERROR])
    job = jobs.get(job_id)
    assert (job.state, job.error, job.finished_at, job.counted) == ("dead", ERROR, now, 1)


def test_a_canceled_job_says_why(jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue()
    jobs.cancel(job_id, "no longer wanted")
    job = jobs.get(job_id)
    assert (job.state, job.ended_reason, job.finished_at) == ("canceled", "no longer wanted", now)


def test_a_job_canceled_while_it_ran_says_why(jobs: Session) -> None:
    """By the reason of the first who asked."""
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.cancel(job_id, "first")
    jobs.cancel(job_id, "second")
    assert jobs.get(job_id).ended_reason is None
    jobs.fail(held, outcomes=["canceled"])
    assert (jobs.get(job_id).state, jobs.get(job_id).ended_reason) == ("canceled", "first")


def test_a_job_that_its_handler_canceled_says_why(db: Database, jobs: Session) -> None:
    said = {"type": "Canceled", "message": "no address"}
    decided, asked, waiting = jobs.enqueue(), jobs.enqueue(), jobs.enqueue()
    held = {one.job_id: one for one in jobs.claim(3)}
    jobs.fail(held[decided], outcomes=["canceled"], errors=[said])
    jobs.cancel(asked)
    jobs.fail(held[asked], outcomes=["canceled"], errors=[said])
    jobs.fail(held[waiting], errors=[ERROR])
    jobs.cancel(waiting)
    reasons = [jobs.get(job).ended_reason for job in (decided, asked, waiting)]
    assert reasons == ["no address", None, None], "of whoever asked, who said nothing; and no failure's words"
    conn = db.connect("superuser")
    conn.execute("select set_config('windlass.tenant_id', %s, false)", [str(DEFAULT_TENANT)])
    seen = conn.execute("select ended_reason from windlass.jobs order by id").fetchall()
    assert [row[0] for row in seen] == reasons


def test_a_reason_that_came_after_the_end_is_none_of_it(jobs: Session) -> None:
    job_id = jobs.enqueue()
    jobs.fail(jobs.claim_one(), outcomes=["canceled"])  # by its handler's own decision
    jobs.cancel(job_id, "too late")
    assert (jobs.get(job_id).state, jobs.get(job_id).ended_reason) == ("canceled", None)


def test_a_running_job_shows_that_it_is_asked_to_stop(jobs: Session) -> None:
    job_id = jobs.enqueue()
    jobs.claim_one()
    assert not jobs.get(job_id).cancel_requested
    jobs.cancel(job_id)
    assert jobs.get(job_id).cancel_requested


def test_jobs_of_one_lease_are_told_apart(jobs: Session) -> None:
    ids = [jobs.enqueue(payload=n) for n in range(4)]
    a, b, c, d = jobs.claim(4)
    jobs.complete(a)
    jobs.fail(b, delays=[60])
    jobs.release(c)
    assert [jobs.state(job_id) for job_id in ids] == ["succeeded", "queued", "queued", "running"]
    assert jobs.get(d.job_id).node_id == jobs.node


def test_a_foreign_id_and_an_unknown_one_get_the_same_answer(
    db: Database, jobs: Session, other: Session
) -> None:
    def answer(asking: Session, job_id: UUID) -> tuple[str | None, str]:
        with nothing_changed(db), refused("WL001") as caught:
            asking.get(job_id)
        return caught.value.sqlstate, str(caught.value).replace(str(job_id), "…")

    theirs = other.enqueue()
    assert other.get(theirs).state == "queued"
    assert answer(jobs, theirs) == answer(jobs, UNKNOWN)
    jobs.tenant = UNKNOWN
    assert answer(jobs, theirs) == answer(other, UNKNOWN)


def test_no_tenant_and_no_job_are_refused(db: Database, jobs: Session) -> None:
    with nothing_changed(db), refused("WL005"):
        jobs.call("select * from windlass.get_job(null, %s)", UNKNOWN)
    with nothing_changed(db), refused("WL001"):
        jobs.call("select * from windlass.get_job(%s, null)", jobs.tenant)


def test_reading_works_in_a_read_only_transaction(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    with jobs.conn.transaction():
        jobs.call("set transaction read only")
        assert jobs.state(job_id) == "queued"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/Los_Angeles"])
def test_no_time_depends_on_the_zone_of_the_session(jobs: Session, clock: Clock, zone: str) -> None:
    now = clock.freeze()
    jobs.call("select set_config('TimeZone', %s, false)", zone)
    job_id = jobs.enqueue()
    ((_, _, _, run_at),) = jobs.fail(jobs.claim_one(), delays=[90])
    job = jobs.get(job_id)
    assert job.run_at == run_at == now + timedelta(seconds=90)
    assert (job.created_at, job.started_at) == (now, now)
