"""tend_redrive: the next slice, a wait, or the end; to the holder of the lease and nobody else."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.operate import bind, callers, events, kill
from tests.sql.redrives import Runner, counts, create, get, kill_many
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


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
        ({"jobs": [cases["address"], UNKNOWN, old], "died_from": since}, [cases["address"]]),
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


def test_workers_ask_and_without_the_token_they_hear_nothing(db: Database, jobs: Session) -> None:
    kill(jobs)
    redrive = create(db, everything=True)
    runner = Runner(jobs)
    query = "select * from windlass.tend_redrive(%s, %s)"
    with nothing_changed(db):
        for token, job in ((UNKNOWN, redrive), (runner.held.token, UNKNOWN), (None, redrive), (None, None)):
            with refused("WL003", "is lost"):
                jobs.call(query, token, job)
    assert callers(db, "tend_redrive", token=UNKNOWN, job=redrive) == {"worker"}
    jobs.complete(runner.held)
    with refused("WL003"), nothing_changed(db):
        runner.tend()
