"""Cancel against every other move of a job, in both orders."""

from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import Session
from tests.sql.two import ENDINGS, Ending, Step, Two
from tests.sql.whole import assert_whole, clear, lapse
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

WORDS = ["fail", "last failure", "snooze", "release", "expire"]


def words(held: Any) -> dict[str, Step]:
    return {
        "complete": lambda s: s.complete(held),
        "finish": lambda s: s.finish(held),
        "fail": lambda s: s.fail(held, delays=[60])[0].state,
        "last failure": lambda s: s.fail(held)[0].state,
        "snooze": lambda s: s.snooze(held, delays=[60])[0].state,
        "release": lambda s: s.release(held)[0].state,
        "expire": lambda s: s.expire()[0][1],
    }


def canceling(job_id: UUID) -> Step:
    return lambda s: s.cancel(job_id)


def most(word: str) -> int:
    return 1 if word in ("last failure", "expire") else 5


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_job_asked_to_stop_does_not_go_on(
    db: Database, jobs: Session, two: Two, subtests: pytest.Subtests, ending: Ending
) -> None:
    """The worker's word came before the request was committed; it is judged after it."""
    for word in WORDS:
        if word == "expire":
            continue  # waits for nobody: see the next test
        with subtests.test(word=word):
            clear(db)
            job_id = jobs.enqueue(max_attempts=most(word))
            held = jobs.claim_one()
            lapse(db)
            race = two.race(canceling(job_id), words(held)[word], ending=ending)
            assert (race.first, race.waited) == ("running", True)
            if ending == "commit":
                assert race.second == jobs.state(job_id) == "canceled"
            else:
                assert race.second == ("dead" if most(word) == 1 else "queued")
            assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_expiry_passes_over_a_job_that_is_being_canceled(
    db: Database, jobs: Session, two: Two, ending: Ending
) -> None:
    job_id, beside = jobs.enqueue(max_attempts=1), jobs.enqueue()
    jobs.claim(2)
    lapse(db)
    race = two.race(canceling(job_id), lambda s: s.expire(), ending=ending)
    assert (race.first, race.second, race.waited) == ("running", [(beside, "queued")], False)
    assert jobs.expire() == [(job_id, "canceled" if ending == "commit" else "dead")]
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_cancel_waits_for_the_word_before_it(
    db: Database, jobs: Session, two: Two, subtests: pytest.Subtests, ending: Ending
) -> None:
    for word in WORDS:
        with subtests.test(word=word):
            clear(db)
            job_id = jobs.enqueue(max_attempts=most(word))
            held = jobs.claim_one()
            lapse(db)
            race = two.race(words(held)[word], canceling(job_id), ending=ending)
            assert race.waited
            if ending == "rollback":
                assert race.second == jobs.state(job_id) == "running"
            elif most(word) == 1:
                assert (race.second, jobs.state(job_id)) == ("WL004", "dead")
            else:
                assert race.second == jobs.state(job_id) == "canceled"
            assert_whole(db)


@pytest.mark.parametrize("word", ["complete", "finish"])
@pytest.mark.parametrize("order", ["cancel first", "success first"])
def test_a_success_and_a_cancel_do_not_wait_for_each_other(
    db: Database, jobs: Session, two: Two, word: str, order: str
) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    steps: list[Step] = [lambda s: s.cancel(job_id), words(held)[word]]
    if order == "success first":
        steps.reverse()
    race = two.race(steps[0], steps[1])
    assert not race.waited
    assert jobs.state(job_id) == "succeeded"
    assert "running" in (race.first, race.second)
    jobs.complete(held, tenants=[jobs.tenant])
    assert_whole(db, late_cancel=True)
    assert jobs.claim() == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_claim_then_cancel(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    job_id = jobs.enqueue()
    race = two.race(lambda s: s.claim(1), lambda s: s.cancel(job_id), ending=ending)
    assert race.waited
    if ending == "commit":
        assert race.second == "running"
        (held,) = race.first
        assert jobs.renew(held.token) == [(held.token, job_id, "cancel_requested")]
    else:
        assert race.second == jobs.state(job_id) == "canceled"
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_cancel_then_claim(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    job_id = jobs.enqueue()
    race = two.race(lambda s: s.cancel(job_id), lambda s: s.claim(1), ending=ending)
    assert (race.first, race.second, race.waited) == ("canceled", [], False)
    left = [row.job_id for row in jobs.claim(1)]
    assert left == ([] if ending == "commit" else [job_id])
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_promote_then_cancel(db: Database, jobs: Session, two: Two, clock: Clock, ending: Ending) -> None:
    """The promoting claim takes a job that stood before it, so the job stays in line."""
    jobs.enqueue()
    job_id = jobs.enqueue(run_at=clock.now().replace(year=2031))
    clock.freeze(clock.now().replace(year=2032))
    race = two.race(lambda s: s.claim(1), lambda s: s.cancel(job_id), ending=ending)
    assert race.waited
    assert race.second == jobs.state(job_id) == "canceled"
    assert len(jobs.claim(2)) == (0 if ending == "commit" else 1)
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_cancel_then_promote(db: Database, jobs: Session, two: Two, clock: Clock, ending: Ending) -> None:
    job_id = jobs.enqueue(run_at=clock.now().replace(year=2031))
    clock.freeze(clock.now().replace(year=2032))
    race = two.race(lambda s: s.cancel(job_id), lambda s: s.claim(1), ending=ending)
    assert (race.first, race.second, race.waited) == ("canceled", [], False)
    left = [row.job_id for row in jobs.claim(1)]
    assert left == ([] if ending == "commit" else [job_id])
    assert_whole(db)


@pytest.mark.parametrize("place", ["ready", "scheduled", "running"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_cancel_and_cancel(
    db: Database, jobs: Session, two: Two, clock: Clock, place: str, ending: Ending
) -> None:
    job_id = jobs.enqueue(run_at=clock.now().replace(year=2031) if place == "scheduled" else None)
    if place == "running":
        jobs.claim_one()
    race = two.race(lambda s: s.cancel(job_id), lambda s: s.cancel(job_id), ending=ending)
    expected = "running" if place == "running" else "canceled"
    assert (race.first, race.second, race.waited) == (expected, expected, True)
    assert jobs.state(job_id) == expected
    assert_whole(db)


def test_promote_and_promote_move_a_job_once(db: Database, jobs: Session, two: Two, clock: Clock) -> None:
    due = clock.now().replace(year=2031)
    ids = {jobs.enqueue(payload=n, run_at=due) for n in range(5)}
    clock.freeze(due.replace(year=2032))
    race = two.race(lambda s: s.claim(1, kinds=["none"]), lambda s: s.claim(5))
    assert not race.waited
    got = [row.job_id for row in race.second] + [row.job_id for row in jobs.claim(10)]
    assert sorted(got) == sorted(ids)
    assert_whole(db)
