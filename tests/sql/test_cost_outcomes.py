"""Costs that come with an outcome: in the attempt, in the job's cost and in the sums, each of them once."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sql.ledger import entries, total
from tests.sql.steps import Session
from tests.sql.two import Two
from tests.sql.whole import assert_whole
from tests.support import Database

pytestmark = pytest.mark.every_version

ENDS: dict[str, Callable[[Session, Any], Any]] = {
    "complete": lambda jobs, held: jobs.complete(held, costs=[5]),
    "skip": lambda jobs, held: jobs.complete(held, costs=[5], states=["skipped"]),
    "fail": lambda jobs, held: jobs.fail(held, costs=[5], delays=[60]),
    "cancel": lambda jobs, held: jobs.fail(held, costs=[5], outcomes=["canceled"]),
    "snooze": lambda jobs, held: jobs.snooze(held, costs=[5], delays=[60]),
    "finish": lambda jobs, held: jobs.finish(held, cost=5),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_cost_with_an_outcome_is_in_the_sums_once(db: Database, jobs: Session, end: str) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.cost((held, 3, "stamps"))
    ENDS[end](jobs, held)
    for word in (ENDS["fail"], ENDS["complete"], ENDS["snooze"]):
        word(jobs, held)
    assert jobs.complete(held, costs=[7], tenants=[jobs.tenant]) is not None
    assert entries(jobs, job_id) == [(1, 3, "stamps"), (1, 5, None)]
    assert jobs.get(job_id).cost_cents == total(jobs) == 8


def test_words_of_one_call_are_judged_one_by_one(db: Database, jobs: Session) -> None:
    """Said twice, said late, without a cost, and under a lease that lives on."""
    for _ in range(5):
        jobs.enqueue(max_attempts=9)
    held = jobs.claim(5)
    jobs.complete(held[0], costs=[1])
    jobs.fail(held[1], costs=[2], delays=[60])
    jobs.complete(held[0], held[2], held[1], held[2], held[3], costs=[64, 4, 64, 64, None])
    jobs.fail(held[4], held[0], held[4], held[2], costs=[8, 64, 64, 64], delays=[60] * 4)
    assert total(jobs) == 15
    assert [jobs.get(word.job_id).cost_cents for word in held] == [1, 2, 4, 0, 8]
    assert_whole(db)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("late", ["fail", "complete"])
def test_a_transactional_finish_and_another_word_are_not_both_paid(
    db: Database, jobs: Session, two: Two, late: str, ending: Any
) -> None:
    """The one that comes second cannot see the first before it has tried."""
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    two.race(lambda one: one.finish(held, cost=3), lambda other: ENDS[late](other, held), ending=ending)
    assert jobs.get(job_id).cost_cents == total(jobs) == (3 if ending == "commit" else 5)
    assert_whole(db, exact_leases=False)
