"""A redrive as a job: slice by slice to its end, by whoever holds the lease; its record goes with it."""

import pytest

from tests.sql.bulk import fill, measure
from tests.sql.operate import call, kill
from tests.sql.redrives import KIND, QUEUE, Runner, counts, create, get, kill_many, redriven
from tests.sql.steps import DEFAULT_TENANT, Session, refused
from tests.sql.whole import assert_whole, lapse, nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_slice_by_slice_to_the_end(db: Database, jobs: Session) -> None:
    dead = kill_many(jobs, 1200)
    late = kill(jobs, kind="report")
    redrive = create(db, kinds=["mail"], reason="relay is back", actor="ada", max_attempts=3)
    runner = Runner(jobs)
    assert runner.held.job_id == redrive
    sizes = []
    while (turn := runner.step()).outcome is None:
        sizes.append(len(turn.jobs))
    assert sizes == [500, 500, 200]
    assert (turn.outcome, turn.matched, turn.redriven, turn.refused, turn.passed) == (
        "done",
        1200,
        1200,
        0,
        0,
    )
    assert redriven(db) == dead
    assert jobs.state(late) == "dead"
    assert {jobs.get(job).max_attempts for job in (dead[0], dead[-1])} == {3}
    with nothing_changed(db):
        assert runner.tend().outcome == "done", "said again by a successor, it is over"
    assert_whole(db)


def test_a_successor_goes_on_where_the_last_slice_committed(db: Database, jobs: Session) -> None:
    dead = kill_many(jobs, 1100)
    redrive = create(db, everything=True)
    first = Runner(Session(db.connect(autocommit=False)))
    first.session.conn.commit()
    first.step()
    first.session.conn.commit()
    first.move(first.tend())  # its process is killed before the commit
    first.session.conn.rollback()
    lapse(db)
    jobs.expire()
    assert counts(db, redrive) == ("queued", 500, 0, 0)
    second = Runner(jobs)
    turn = second.tend()
    with refused("WL003", "is lost"):
        first.move(turn)
    first.session.conn.rollback()
    with refused("WL003"), nothing_changed(db):
        first.tend()
    first.session.conn.rollback()
    second.run()
    assert counts(db, redrive) == ("done", 1100, 0, 0)
    assert redriven(db) == dead
    assert_whole(db)


def test_canceled_as_a_job_it_stops_too(db: Database, jobs: Session) -> None:
    kill_many(jobs, 10)
    redrive, waiting = create(db, everything=True), create(db, everything=True)
    runner = Runner(jobs)
    turn = runner.tend()
    jobs.cancel(redrive)
    jobs.cancel(waiting, "not wanted")
    assert runner.move(turn) == 0
    assert runner.tend().stop_reason == "its job was canceled"
    assert counts(db, redrive) == ("stopped", 0, 0, 0)
    assert (get(db, waiting).state, get(db, waiting).stop_reason) == ("canceled", "not wanted")


def test_a_killed_redrive_is_itself_redriven_and_goes_on(db: Database, jobs: Session) -> None:
    """It is a job like any other; but no filter takes the jobs of Windlass itself for somebody's."""
    dead = kill_many(jobs, 3)
    redrive = create(db, everything=True)
    runner = Runner(jobs)
    db.execute("update windlass_data.job set max_attempts = 1 where id = %s", redrive, role="superuser")
    jobs.fail(runner.held, errors=[{"type": "Fault", "message": "it broke"}])
    assert (get(db, redrive).state, get(db, redrive).stop_reason) == ("dead", "it broke")
    create(db, everything=True)
    another = Runner(jobs)
    assert another.tend().jobs == dead
    jobs.complete(another.held)
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, jobs=[redrive])
    runner = Runner(jobs)
    assert runner.run().redriven == 3
    assert redriven(db) == sorted([*dead, redrive])


def test_the_record_goes_with_its_job(db: Database, jobs: Session) -> None:
    kill_many(jobs, 3)
    redrive = create(db, everything=True, stop_rate=1)
    runner = Runner(jobs)
    runner.run()
    jobs.complete(runner.held)
    tables = (
        "select (select count(*) from windlass_data.redrive) as runs,"
        " (select count(*) from windlass_data.redriven) as watched"
    )
    assert tuple(db.fetch_row(tables, role="superuser")) == (1, 3)
    call(db, "maintain")
    assert tuple(db.fetch_row(tables, role="superuser")) == (1, 0), "nobody watches them any more"
    db.execute("delete from windlass_data.job where id = %s", redrive, role="superuser")
    assert get(db, redrive).state == "done"
    call(db, "maintain")
    assert tuple(db.fetch_row(tables, role="superuser")) == (0, 0)


def test_the_job_says_what_it_is(db: Database, jobs: Session) -> None:
    redrive = create(db, everything=True)
    job = jobs.get(redrive)
    assert (job.kind, job.queue, job.payload, job.max_attempts) == (KIND, QUEUE, {}, 25)


def test_a_slice_reads_no_table_from_end_to_end(db: Database, jobs: Session) -> None:
    kill_many(jobs, 600)
    fill(db, {"finished": 20_000})
    db.execute("analyze", role="superuser")
    create(db, everything=True, stop_rate=0.5)
    runner, conn = Runner(jobs), db.connection()
    words = (runner.held.token, runner.held.job_id)
    turn = runner.tend()
    move = "select windlass.move_redrive(%s, %s, %s, %s, %s::uuid[])"
    with conn.transaction():
        assert measure(conn, move, *words, turn.after, turn.upto, turn.jobs).scanned == set()
    with conn.transaction():
        assert measure(conn, "select * from windlass.tend_redrive(%s, %s)", *words).scanned == set()
        everything = "select * from windlass.preview_redrive(%s, p_everything => true)"
        assert measure(conn, everything, DEFAULT_TENANT).scanned == set()
