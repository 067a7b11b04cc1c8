"""move_redrive: a slice is revived once, with its cursor, and nothing that is not in it."""

from typing import Any

import pytest

from tests.sql.operate import callers, kill
from tests.sql.redrives import Runner, counts, create, kill_many, redriven
from tests.sql.steps import UNKNOWN, Session, refused
from tests.sql.two import Two
from tests.sql.whole import assert_whole, lapse, nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

MOVE = "select windlass.move_redrive(%s, %s, %s, %s, %s::uuid[], %s::uuid[], %s::text[])"


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


def test_a_key_that_moved_on_is_passed_over(db: Database, jobs: Session) -> None:
    kill(jobs, key="x", scope="active")
    jobs.enqueue("mail", key="x", scope="active")
    redrive = create(db, everything=True)
    Runner(jobs).run()
    assert counts(db, redrive) == ("done", 0, 0, 1)


def test_what_is_no_slice_is_refused(db: Database, jobs: Session) -> None:
    (dead,) = kill_many(jobs, 1)
    create(db, everything=True)
    runner = Runner(jobs)
    turn = runner.tend()
    words = (runner.held.token, runner.held.job_id)
    with nothing_changed(db):
        for after, upto, moved, spurned, faults in (
            (None, turn.upto, [dead], [], []),
            (turn.after, None, [dead], [], []),
            (turn.upto, turn.after, [dead], [], []),
            (turn.after, turn.after, [dead], [], []),
            (turn.after, turn.upto, [dead] * 501, [], []),
            (turn.after, turn.upto, [], [dead], []),
            (turn.after, turn.upto, [dead], [], ["no reason"]),
        ):
            with refused("WL007", "a slice is"):
                jobs.call(MOVE, *words, after, upto, moved, spurned, faults)
        for keys, limit in ((["k"], None), (None, 0), (None, 1001)):
            query = "select windlass.move_redrive(%s, %s, %s, %s, %s, p_keys => %s, p_key_limit => %s)"
            with refused("WL007", "concurrency key"):
                jobs.call(query, *words, turn.after, turn.upto, [dead], keys, limit)


def test_only_dead_jobs_of_the_slice_that_are_meant_come_back(
    db: Database, jobs: Session, other: Session
) -> None:
    done = jobs.enqueue()
    jobs.complete(jobs.claim_one())
    meant, later, unmeant = sorted(kill(jobs) for _ in range(3))
    foreign, waits = kill(other), jobs.enqueue()
    redrive = create(db, jobs=[done, meant, later, waits])
    runner = Runner(jobs)
    words = (runner.held.token, runner.held.job_id, runner.tend().after, meant)
    assert jobs.value(MOVE, *words, [done, meant, later, unmeant, waits, foreign], [], []) == 1
    assert redriven(db) == [meant]
    assert [jobs.state(job) for job in (later, unmeant)] == ["dead", "dead"]
    assert (other.state(foreign), jobs.state(done)) == ("dead", "succeeded")
    assert counts(db, redrive)[1] == 1
    assert_whole(db)


def test_workers_move_and_without_the_token_nothing_moves(db: Database, jobs: Session) -> None:
    kill_many(jobs, 2)
    redrive = create(db, everything=True)
    runner = Runner(jobs)
    turn = runner.tend()
    with nothing_changed(db):
        for token, job in ((UNKNOWN, redrive), (runner.held.token, UNKNOWN), (None, None)):
            with refused("WL003", "is lost"):
                jobs.call(MOVE, token, job, turn.after, turn.upto, turn.jobs, [], [])
    assert callers(db, "move_redrive", token=UNKNOWN, job=redrive) == {"worker"}
    jobs.enqueue("plain")
    plain = jobs.claim_one(kinds=["plain"])
    with nothing_changed(db), refused("WL001", "is no redrive"):
        jobs.call(MOVE, plain.token, plain.job_id, turn.after, turn.upto, turn.jobs, [], [])
