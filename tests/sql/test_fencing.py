"""No word about a job counts without the token that holds it now: every verb, every way of being wrong."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.sql.steps import Held, Session, Word, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def refused_finish(jobs: Session, held: Held) -> list[str]:
    with refused("WL003"):
        jobs.finish(held)
    return ["lease_lost"]


VERBS: dict[str, Callable[[Session, Held], list[Any]]] = {
    "complete": lambda jobs, held: [code for _, code in jobs.complete(held, results=[1], costs=[1])],
    "complete again": lambda jobs, held: [
        code for _, code in jobs.complete(held, results=[1], tenants=[jobs.tenant])
    ],
    "skip": lambda jobs, held: [code for _, code in jobs.complete(held, states=["skipped"])],
    "finish": refused_finish,
    "fail": lambda jobs, held: [row.code for row in jobs.fail(held, errors=[{}])],
    "fail for good": lambda jobs, held: [row.code for row in jobs.fail(held, outcomes=["canceled"])],
    "time out": lambda jobs, held: [row.code for row in jobs.fail(held, outcomes=["timed_out"])],
    "snooze": lambda jobs, held: [row.code for row in jobs.snooze(held, delays=[60])],
    "release": lambda jobs, held: [row.code for row in jobs.release(held)],
    "begin": lambda jobs, held: [code for _, code in jobs.begin(held)],
    "renew": lambda jobs, held: [code for _, _, code in jobs.renew(held.token)],
    "cost": lambda jobs, held: jobs.cost((held, 5, "stamps")),
}


def expired(jobs: Session, clock: Clock, held: Any) -> Held:
    clock.advance(31)
    jobs.expire()
    return held


def claimed_by_another(jobs: Session, clock: Clock, held: Any) -> Held:
    """The same node name gets it again: only the token tells the two claims apart."""
    expired(jobs, clock, held)
    assert jobs.claim_one().job_id == held.job_id
    return held


SITUATIONS: dict[str, Callable[[Session, Clock, Any], Held]] = {
    "unknown token": lambda jobs, clock, held: Word(uuid4(), held.job_id),
    "unknown job": lambda jobs, clock, held: Word(held.token, uuid4()),
    "completed": lambda jobs, clock, held: (jobs.complete(held), held)[1],
    "failed": lambda jobs, clock, held: (jobs.fail(held, delays=[60]), held)[1],
    "dead": lambda jobs, clock, held: (jobs.fail(held, outcomes=["canceled"]), held)[1],
    "released": lambda jobs, clock, held: (jobs.release(held), held)[1],
    "expired": expired,
    "claimed by another": claimed_by_another,
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_late_or_foreign_word_changes_nothing(
    db: Database, jobs: Session, clock: Clock, subtests: pytest.Subtests, situation: str
) -> None:
    jobs.enqueue()
    late = SITUATIONS[situation](jobs, clock, jobs.claim_one(lease=30))
    for verb, say in VERBS.items():
        if situation == "unknown job" and verb == "renew":
            continue  # renewal names no job, and the token is good
        if situation == "completed" and verb == "complete again":
            continue  # the one repeat that is allowed: it wrote nothing, and is told so
        with subtests.test(verb=verb), nothing_changed(db):
            assert say(jobs, late) == ["lease_lost"]
    assert_whole(db)


def test_a_word_about_another_lease_changes_nothing(
    db: Database, jobs: Session, subtests: pytest.Subtests
) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b")
    a, b = jobs.claim(2)
    assert a.token != b.token
    for verb, say in VERBS.items():
        if verb != "renew":
            with subtests.test(verb=verb), nothing_changed(db):
                assert say(jobs, Word(a.token, b.job_id)) == ["lease_lost"]


def test_tokens_swapped_within_a_batch_change_nothing(
    db: Database, jobs: Session, subtests: pytest.Subtests
) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b")
    a, b = jobs.claim(2)
    swapped = (Word(a.token, b.job_id), Word(b.token, a.job_id))
    batches: dict[str, Callable[[], list[str]]] = {
        "complete": lambda: [code for _, code in jobs.complete(*swapped)],
        "fail": lambda: [row.code for row in jobs.fail(*swapped)],
        "snooze": lambda: [row.code for row in jobs.snooze(*swapped, delays=[1, 1])],
        "release": lambda: [row.code for row in jobs.release(*swapped)],
    }
    for verb, say in batches.items():
        with subtests.test(verb=verb), nothing_changed(db):
            assert say() == ["lease_lost", "lease_lost"]


def test_a_lease_that_lives_on_no_longer_holds_a_job_that_left_it(
    db: Database, jobs: Session, subtests: pytest.Subtests
) -> None:
    jobs.enqueue("a")
    jobs.enqueue("a")
    gone, stays = jobs.claim(2)
    assert gone.token == stays.token
    jobs.fail(gone, delays=[0])
    again = jobs.claim_one()
    assert (again.job_id, again.version) == (gone.job_id, 2)
    for verb, say in VERBS.items():
        if verb != "renew":
            with subtests.test(verb=verb), nothing_changed(db):
                assert say(jobs, gone) == ["lease_lost"]
    assert jobs.complete(again, stays) == []
    assert_whole(db)


def test_the_right_token_is_heard(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    """The control: each of the same words, said by the holder, does something."""
    for verb, say in VERBS.items():
        with subtests.test(verb=verb):
            jobs.enqueue()
            held = jobs.claim_one()
            if verb == "finish":
                jobs.finish(held)
            else:
                assert "lease_lost" not in say(jobs, held)
            assert (jobs.state(held.job_id) == "running") == (verb in ("begin", "renew", "cost"))
            if verb in ("fail", "time out", "snooze", "release"):
                jobs.cancel(held.job_id)
            elif verb in ("renew", "cost"):
                jobs.complete(held)
