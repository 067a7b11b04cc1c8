"""Two words about one running job, in both orders: exactly one of them is heard."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.sql.steps import Session
from tests.sql.two import ENDINGS, Ending, Step, Two
from tests.sql.whole import assert_whole, clear, lapse
from tests.support import Database

pytestmark = pytest.mark.every_version


def say_codes(rows: list[Any]) -> list[str]:
    return [row.code for row in rows]


# Each word, and what it gets when it is heard.
WORDS: dict[str, tuple[Callable[[Any], Step], Any]] = {
    "complete": (lambda held: lambda s: s.complete(held), []),
    "finish": (lambda held: lambda s: s.finish(held), None),
    "fail": (lambda held: lambda s: say_codes(s.fail(held, delays=[60])), ["ok"]),
    "last failure": (lambda held: lambda s: say_codes(s.fail(held, outcomes=["canceled"])), ["ok"]),
    "snooze": (lambda held: lambda s: say_codes(s.snooze(held, delays=[60])), ["ok"]),
    "release": (lambda held: lambda s: say_codes(s.release(held)), ["ok"]),
    "expire": (lambda held: lambda s: s.expire(), "moved"),
}
REFUSED: dict[str, Any] = {"finish": "WL003", "expire": []}
AFTER = {
    "complete": "succeeded",
    "finish": "succeeded",
    "last failure": "canceled",
}


def heard(word: str, job_id: UUID) -> Any:
    return [(job_id, "queued")] if word == "expire" else WORDS[word][1]


def unheard(word: str, job_id: UUID) -> Any:
    if word == "complete":
        return [(job_id, "lease_lost")]
    return REFUSED.get(word, ["lease_lost"])


@pytest.mark.parametrize("first", WORDS)
def test_the_first_word_counts_and_the_second_does_not(
    db: Database, jobs: Session, two: Two, subtests: pytest.Subtests, first: str
) -> None:
    """Also for one job of a lease whose other jobs go on."""
    for second in WORDS:
        with subtests.test(second=second):
            clear(db)
            job_id = jobs.enqueue()
            jobs.enqueue()
            held, sibling = jobs.claim(2)
            lapse(db)
            race = two.race(WORDS[first][0](held), WORDS[second][0](held))
            if first == "expire":
                assert set(race.first) == {(moved, "queued") for moved in (job_id, sibling.job_id)}
            else:
                assert race.first == heard(first, job_id)
            assert race.second == unheard(second, job_id)
            assert jobs.state(job_id) == AFTER.get(first, "queued")
            assert jobs.get(job_id).version == 1
            assert_whole(db, exact_leases="finish" not in (first, second))


@pytest.mark.parametrize("first", WORDS)
def test_a_first_word_that_is_taken_back_leaves_the_second_its_turn(
    db: Database, jobs: Session, two: Two, subtests: pytest.Subtests, first: str
) -> None:
    for second in WORDS:
        with subtests.test(second=second):
            clear(db)
            job_id = jobs.enqueue()
            held = jobs.claim_one()
            lapse(db)
            race = two.race(WORDS[first][0](held), WORDS[second][0](held), ending="rollback")
            if second == "expire":
                assert not race.waited
                assert race.second == [], "what somebody is reporting is not expired"
                assert jobs.state(job_id) == "running"
                assert jobs.expire() == [(job_id, "queued")]
            else:
                assert race.waited
                assert race.second == heard(second, job_id)
                assert jobs.state(job_id) == AFTER.get(second, "queued")
            assert_whole(db, exact_leases="finish" not in (first, second))


@pytest.mark.parametrize("ending", ENDINGS)
def test_claim_and_claim(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    ids = [jobs.enqueue(payload=n) for n in range(4)]
    race = two.race(lambda s: s.claim(2), lambda s: s.claim(2), ending=ending)
    assert not race.waited, "a claim waits for nobody"
    assert [row.job_id for row in race.first] == ids[:2]
    assert [row.job_id for row in race.second] == ids[2:]
    left = [row.job_id for row in jobs.claim(4)]
    assert left == ([] if ending == "commit" else ids[:2])
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_two_claims_of_the_last_job(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    job_id = jobs.enqueue()
    race = two.race(lambda s: s.claim(1), lambda s: s.claim(1), ending=ending)
    assert not race.waited, "a claim waits for nobody"
    assert ([row.job_id for row in race.first], race.second) == ([job_id], [])
    assert [row.job_id for row in jobs.claim(1)] == ([] if ending == "commit" else [job_id])
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_claim_and_claim_from_several_lanes(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    ids = {jobs.enqueue(kind) for kind in ("mail", "report") for _ in range(4)}
    race = two.race(lambda s: s.claim(2), lambda s: s.claim(2), ending=ending)
    assert not race.waited, "a claim waits for nobody"
    first, second = ({row.job_id for row in rows} for rows in (race.first, race.second))
    assert (len(first), len(second), first & second) == (2, 2, set())
    left = {row.job_id for row in jobs.claim(8)}
    assert left == ids - second - (first if ending == "commit" else set())
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_renew_then_expire(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    lapse(db)
    race = two.race(lambda s: s.renew(held.token), lambda s: s.expire(), ending=ending)
    assert (race.first, race.second, race.waited) == ([], [], False)
    assert jobs.expire() == ([] if ending == "commit" else [(job_id, "queued")])
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_expire_then_renew(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    lapse(db)
    race = two.race(lambda s: s.expire(), lambda s: s.renew(held.token), ending=ending)
    lost = ending == "commit"
    assert (race.first, race.waited) == ([(job_id, "queued")], False)
    assert race.second == [(held.token, None, "busy")], "a renewal waits for nobody"
    assert jobs.renew(held.token) == ([(held.token, None, "lease_lost")] if lost else [])
    assert jobs.state(job_id) == ("queued" if lost else "running")
    assert_whole(db)


def test_two_expiries_share_the_leases(db: Database, jobs: Session, two: Two) -> None:
    for kind in ("a", "b", "c"):
        jobs.enqueue(kind)
    jobs.claim(3)
    lapse(db)
    race = two.race(lambda s: s.expire(2), lambda s: s.expire(2))
    assert (len(race.first), len(race.second), race.waited) == (2, 1, False)
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_handlers_open_transaction_delays_no_other_job_of_its_lease(
    db: Database, jobs: Session, two: Two, subtests: pytest.Subtests, ending: Ending
) -> None:
    steps: dict[str, Callable[[Any], Step]] = {
        "complete": lambda held: lambda s: s.complete(held),
        "renew": lambda held: lambda s: s.renew(held.token),
        "fail": lambda held: lambda s: say_codes(s.fail(held, delays=[0])),
        "release": lambda held: lambda s: say_codes(s.release(held)),
    }
    for word, step in steps.items():
        with subtests.test(word=word):
            clear(db)
            jobs.enqueue()
            jobs.enqueue()
            mine, sibling = jobs.claim(2)
            lapse(db)
            race = two.race(WORDS["finish"][0](mine), step(sibling), ending=ending)
            assert not race.waited
            assert race.second in ([], ["ok"])
            assert jobs.state(mine.job_id) == ("succeeded" if ending == "commit" else "running")
            assert_whole(db, exact_leases=False)
            assert jobs.complete(mine, tenants=[jobs.tenant]) == []
            assert jobs.complete(sibling, tenants=[jobs.tenant]) in ([], [(sibling.job_id, "lease_lost")])
            assert_whole(db)


def test_a_lease_is_not_expired_under_a_handlers_open_transaction(
    db: Database, jobs: Session, two: Two
) -> None:
    jobs.enqueue()
    jobs.enqueue()
    mine, sibling = jobs.claim(2)
    lapse(db)
    race = two.race(lambda s: s.finish(mine), lambda s: s.expire())
    assert (race.second, race.waited) == ([], False)
    assert jobs.expire() == [(sibling.job_id, "queued")]
    assert jobs.state(mine.job_id) == "succeeded"
    assert_whole(db)


def test_a_word_of_the_worker_waits_for_the_handlers_transaction(
    db: Database, jobs: Session, two: Two
) -> None:
    """The worker gives up on a handler whose transaction is still open: the transaction decides."""
    jobs.enqueue()
    held = jobs.claim_one()
    race = two.race(lambda s: s.finish(held), lambda s: say_codes(s.fail(held, outcomes=["timed_out"])))
    assert (race.second, race.waited) == (["lease_lost"], True)
    assert jobs.state(held.job_id) == "succeeded"
    assert_whole(db)
