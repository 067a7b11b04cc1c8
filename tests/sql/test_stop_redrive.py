"""stop_redrive: nothing more is revived from the commit on, and what has ended stays as it is."""

import pytest

from tests.sql.operate import bind, call, call_value, callers, events, kill, waiting
from tests.sql.redrives import Runner, counts, create, get, kill_many
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_stopped_by_hand_it_moves_nothing_more(db: Database, jobs: Session) -> None:
    kill_many(jobs, 600)
    redrive = create(db, everything=True)
    runner = Runner(jobs)
    runner.step()
    turn = runner.tend()
    (answer,) = call(db, "stop_redrive", tenant=DEFAULT_TENANT, job=redrive, reason="enough", actor="ada")
    assert answer.stop_redrive == "stopped"
    assert runner.move(turn) == 0
    db.execute("delete from windlass_data.cancel_request", role="superuser")
    assert runner.move(turn) == 0, "not only because its job is to be canceled"
    assert get(db, redrive).stop_reason == "stopped by ada"
    assert counts(db, redrive) == ("stopped", 500, 0, 0)
    told = events(db, DEFAULT_TENANT, "action", "reason")
    assert told[-2:] == [("redrive.stop", "enough"), ("job.cancel", "enough")]
    with nothing_changed(db):
        call(db, "stop_redrive", tenant=DEFAULT_TENANT, job=redrive)
    waiting = create(db, everything=True)
    call(db, "stop_redrive", tenant=DEFAULT_TENANT, job=waiting)
    assert (jobs.state(waiting), get(db, waiting).state) == ("canceled", "stopped")


def test_what_has_ended_keeps_its_outcome(db: Database, jobs: Session) -> None:
    kill(jobs)
    redrive = create(db, everything=True)
    runner = Runner(jobs)
    runner.run()
    jobs.complete(runner.held)
    with nothing_changed(db):
        assert call_value(db, "stop_redrive", tenant=DEFAULT_TENANT, job=redrive, reason="late") == "done"


def test_it_waits_for_the_job_before_it_holds_the_redrive(db: Database, jobs: Session) -> None:
    kill(jobs)
    redrive = create(db, everything=True)
    Runner(jobs)
    word, stop = db.connect("superuser", autocommit=False), db.connect()
    word.execute("select from windlass_data.job where id = %s for no key update", [redrive])
    query = "select windlass.stop_redrive(%s, %s)"
    with waiting(db, stop, lambda: stop.execute(query, [DEFAULT_TENANT, redrive]).fetchall()) as stopped:
        word.execute("select from windlass_data.redrive where id = %s for no key update nowait", [redrive])
        word.rollback()
        assert [tuple(row) for row in stopped.result()] == [("stopped",)]


def test_a_dead_redrive_is_stopped_without_a_job_to_cancel(db: Database, jobs: Session) -> None:
    kill(jobs)
    redrive = create(db, everything=True)
    db.execute("update windlass_data.job set max_attempts = 1 where id = %s", redrive, role="superuser")
    jobs.fail(Runner(jobs).held)
    with nothing_changed(db), refused("WL007", "reason"):
        call(db, "stop_redrive", tenant=DEFAULT_TENANT, job=redrive, reason="x" * 2001)
    assert call_value(db, "stop_redrive", tenant=DEFAULT_TENANT, job=redrive) == "stopped"
    assert (jobs.state(redrive), get(db, redrive).state) == ("dead", "stopped")


def test_operators_stop_their_own_and_nobody_elses(db: Database, jobs: Session, other: Session) -> None:
    kill(other)
    theirs = create(db, OTHER_TENANT, everything=True)
    plain = jobs.enqueue()
    with nothing_changed(db):
        for job in (theirs, plain, UNKNOWN, None):
            with refused("WL001", "there is no redrive"):
                call(db, "stop_redrive", tenant=DEFAULT_TENANT, job=job)
        with refused("WL005", "no tenant given"):
            call(db, "stop_redrive", tenant=None, job=theirs)
    assert callers(db, "stop_redrive", tenant=OTHER_TENANT, job=theirs) == {"operator"}
    bind(db, "operator", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005", "another tenant"):
        call(db, "stop_redrive", role="operator", tenant=OTHER_TENANT, job=theirs)
    assert call_value(db, "stop_redrive", tenant=OTHER_TENANT, job=theirs) == "stopped"
