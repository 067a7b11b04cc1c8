"""A redrive as a job: slice by slice, once each, by the holder of the lease and nobody else."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.bulk import fill, measure
from tests.sql.operate import bind, call, events, kill
from tests.sql.redrives import KIND, QUEUE, Runner, counts, create, get, kill_many
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session, refused
from tests.sql.two import Two
from tests.sql.whole import assert_whole, lapse, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOBODY = UUID(int=7)


def redriven(db: Database) -> list[UUID]:
    """The job of every event that tells of a revival, so that a second one shows."""
    return sorted(
        job for action, job in events(db, DEFAULT_TENANT, "action", "job_id") if action == "job.redrive"
    )


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


def test_an_expiry_waits_for_the_slice_and_the_slice_for_no_expiry(
    db: Database, jobs: Session, two: Two
) -> None:
    kill_many(jobs, 10)
    create(db, everything=True)
    runner = Runner(jobs)
    turn = runner.tend()
    lapse(db)

    def move(session: Session) -> int:
        runner.session = session
        return runner.move(turn)

    race = two.race(move, lambda session: session.expire())
    assert (race.first, race.second, race.waited) == (10, [], False), "the lease is shared: passed over"
    other = two.race(lambda session: session.expire(), move)
    assert (other.first, other.second) == ([(runner.held.job_id, "queued")], "WL003")
    assert_whole(db)


def test_a_slice_said_twice_counts_once(db: Database, jobs: Session) -> None:
    kill_many(jobs, 600)
    redrive = create(db, everything=True)
    runner = Runner(jobs)
    turn = runner.tend()
    assert (runner.move(turn), runner.move(turn)) == (500, 0)
    assert counts(db, redrive) == ("running", 500, 0, 0)
    assert len(redriven(db)) == 500


def test_two_redrives_of_the_same_jobs_revive_each_once(db: Database, jobs: Session, two: Two) -> None:
    dead = kill_many(jobs, 50)
    ids = [create(db, kinds=["mail"]), create(db, everything=True)]
    runners = [Runner(jobs), Runner(jobs)]
    turns = [runner.tend() for runner in runners]

    def moving(place: int) -> Any:
        def move(session: Session) -> int:
            runners[place].session = session
            return runners[place].move(turns[place])

        return move

    race = two.race(moving(0), moving(1))
    assert (race.first, race.second, race.waited) == (50, 0, True)
    assert sorted(counts(db, one) for one in ids) == [("running", 0, 0, 50), ("running", 50, 0, 0)]
    assert redriven(db) == dead
    assert_whole(db)


def test_what_is_not_meant_stays_dead(db: Database, jobs: Session, clock: Clock) -> None:
    old = kill(jobs)
    clock.advance(timedelta(hours=1))
    since = clock.now()
    cases: dict[str, UUID] = {
        "timeout": kill(jobs, error={"type": "Timeout", "message": "took too long"}),
        "address": kill(jobs, queue="slow"),
    }
    clock.advance(timedelta(hours=1))
    filters: list[tuple[dict[str, Any], list[UUID]]] = [
        ({"error_like": "time%"}, [cases["timeout"]]),
        ({"error_like": "timeout: took%"}, [cases["timeout"]]),
        ({"error_like": "%such address", "queues": ["slow"]}, [cases["address"]]),
        ({"died_to": since}, [old]),
        ({"died_from": since, "died_to": since + timedelta(minutes=1), "kinds": ["mail"]}, [*cases.values()]),
        ({"jobs": [cases["address"], NOBODY, old], "died_from": since}, [cases["address"]]),
        ({"everything": True}, [old, *cases.values()]),
    ]
    for what, expected in filters:
        create(db, **what)
        runner = Runner(jobs)
        assert runner.tend().jobs == sorted(expected), what
        jobs.complete(runner.held)


def test_jobs_that_die_after_the_start_are_not_followed(db: Database, jobs: Session, clock: Clock) -> None:
    first = kill(jobs)
    clock.advance(1)
    redrive = create(db, everything=True)
    clock.advance(1)
    kill(jobs)
    runner = Runner(jobs)
    runner.step()
    jobs.fail(*jobs.claim(2))
    assert jobs.state(first) == "dead"
    runner.run()
    assert counts(db, redrive) == ("done", 1, 0, 0)


def test_a_key_that_moved_on_is_passed_over(db: Database, jobs: Session) -> None:
    kill(jobs, key="x", scope="active")
    jobs.enqueue("mail", key="x", scope="active")
    redrive = create(db, everything=True)
    Runner(jobs).run()
    assert counts(db, redrive) == ("done", 0, 0, 1)


def test_the_throttle_is_kept_by_the_databases_clock(db: Database, jobs: Session, clock: Clock) -> None:
    kill_many(jobs, 25)
    redrive = create(db, everything=True, throttle=10)
    clock.freeze()
    runner = Runner(jobs)
    assert runner.run().wait == pytest.approx(1)
    assert get(db, redrive).redriven == 10
    clock.advance(0.5)
    assert runner.run().wait == pytest.approx(0.5)
    clock.advance(60)
    assert runner.run().wait == pytest.approx(1), "time that was not used is not made up for"
    assert get(db, redrive).redriven == 20
    clock.advance(1)
    runner.step()
    clock.advance(1)
    assert runner.tend().outcome == "done"
    jobs.complete(runner.held)
    kill(jobs, kind="late")
    create(db, everything=True, throttle=0.1)
    assert Runner(jobs).run().wait == pytest.approx(10)


def test_it_stops_when_too_many_die_again_also_while_it_waits(
    db: Database, jobs: Session, clock: Clock
) -> None:
    kill_many(jobs, 20)
    redrive = create(db, everything=True, throttle=8, stop_rate=0.5, stop_after=4)
    clock.freeze()
    runner = Runner(jobs)
    assert runner.run().wait > 0
    held = jobs.claim(8)
    jobs.complete(held[0])
    jobs.fail(held[1], held[2])
    turn = runner.tend()
    assert (turn.outcome, turn.ended, turn.died) == (None, 3, 2), "three are too few to judge by"
    jobs.complete(held[3])
    jobs.fail(held[4])
    turn = runner.tend()
    assert turn.outcome == "stopped"
    why = "3 of 5 redriven jobs that ended have died again, and it stops at a share of 0.5"
    assert (turn.stop_reason, turn.redriven, turn.wait) == (why, 8, 0)
    clock.advance(10)
    with nothing_changed(db):
        runner.run()
    row = get(db, redrive)
    assert (row.state, row.stop_reason, row.redriven) == ("stopped", why, 8)
    last = events(db, DEFAULT_TENANT, "actor", "action", "job_id", "reason", "details")[-1]
    assert last[:4] == ("windlass", "redrive.stop", redrive, why)
    assert last[4] == {"matched": 8, "redriven": 8, "refused": 0, "passed": 0, "ended": 5, "died": 3}


def test_a_share_of_zero_and_of_one(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze()
    for rate, fails, outcome in ((0, 0, None), (0, 1, "stopped"), (1, 3, None), (1, 4, "stopped")):
        kill_many(jobs, 5)
        create(db, everything=True, throttle=4, stop_rate=rate, stop_after=4)
        runner = Runner(jobs)
        runner.run()
        held = jobs.claim(4)
        jobs.fail(*held[:fails])
        jobs.complete(*held[fails:])
        assert runner.tend().outcome == outcome, (rate, fails)
        jobs.complete(runner.held)
        clock.advance(60)


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


def test_only_a_redrive_can_be_tended_and_only_in_its_tenant(
    db: Database, jobs: Session, other: Session
) -> None:
    job = jobs.enqueue()
    held = jobs.claim_one()
    with refused("WL001", f"job {job} is no redrive"):
        jobs.call("select * from windlass.tend_redrive(%s, %s)", held.token, job)
    kill(other)
    create(db, OTHER_TENANT, everything=True)
    runner = Runner(other)
    bind(db, "worker", DEFAULT_TENANT)
    runner.session = Session(db.connect("worker"))
    with refused("WL003"), nothing_changed(db):
        runner.tend()
    assert call(db, "list_redrives", tenant=DEFAULT_TENANT) == []
    with refused("WL001"):
        get(db, runner.held.job_id)


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


def test_the_record_goes_with_its_job(db: Database, jobs: Session, clock: Clock) -> None:
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
