"""fold_costs: the latest costs go into the sums of their days, and no reader sees one twice or not at all."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.sql.days import Past
from tests.sql.ledger import entries, fold, sums, total
from tests.sql.steps import Session, refused
from tests.sql.two import Two
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def rows(db: Database, table: str) -> int:
    return int(db.fetch_value(f"select count(*) from windlass_data.{table}", role="superuser"))


def test_sums_are_the_same_before_and_after(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b", queue="slow")
    a, b = jobs.claim_one(), jobs.claim_one(queues=["slow"])
    clock.freeze(datetime(2030, 1, 1, 23, 59, 59, tzinfo=UTC))
    jobs.cost((a, 1, "x"), (a, 2, "y"), (b, 4, "x"))
    clock.freeze(datetime(2030, 1, 2, 0, 0, 1, tzinfo=UTC))
    jobs.cost((a, 8, "x"))
    jobs.cost((a, 16, "x"))
    before = sums(jobs, "day", "queue", "kind")
    first, second = date(2030, 1, 1), date(2030, 1, 2)
    assert before == {(first, "default", "a"): 3, (first, "slow", "b"): 4, (second, "default", "a"): 24}
    assert (rows(db, "cost_delta"), rows(db, "cost_day")) == (4, 0), "a row for each queue and kind of a call"
    assert [fold(jobs, 3), fold(jobs, 3), fold(jobs, 3)] == [3, 1, 0]
    assert (rows(db, "cost_delta"), rows(db, "cost_day")) == (0, 3)
    assert sums(jobs, "day", "queue", "kind") == before
    jobs.cost((a, 32, "x"))
    assert sums(jobs, "day") == {first: 7, second: 56}
    assert fold(jobs) == 1
    assert sums(jobs, "day") == {first: 7, second: 56}


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_of_two_at_once_the_second_does_nothing(jobs: Session, two: Two, ending: Any) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    jobs.cost((held, 3, "stamps"))
    race = two.race(fold, fold, ending=ending)
    assert (race.first, race.second, race.waited) == (1, 0, False)
    assert total(jobs) == 3
    assert fold(jobs) == (0 if ending == "commit" else 1)
    assert total(jobs) == 3


class Tally:
    """How much was surely reported, and how much may have been."""

    def __init__(self) -> None:
        self.said = self.answered = 0


def test_a_sum_is_exact_while_costs_come_in_and_are_folded(db: Database, jobs: Session) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b")
    held, tallies, stop = jobs.claim(2), [Tally(), Tally()], threading.Event()
    faults: list[BaseException] = []

    def keep(act: Callable[[Session], Any]) -> threading.Thread:
        session = Session(db.connect())

        def run() -> None:
            try:
                while not stop.is_set():
                    act(session)
            except BaseException as error:
                faults.append(error)

        return threading.Thread(target=run)

    def say(session: Session, number: int) -> None:
        tally = tallies[number]
        tally.said += 3
        session.cost((held[number], 1, "x"), (held[number], 2, "y"))
        tally.answered += 3

    threads = [keep(lambda s, n=n: say(s, n)) for n in (0, 1)]  # type: ignore[misc]
    threads += [keep(lambda s: fold(s, 3)), keep(lambda s: fold(s, 2))]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    until = time.monotonic() + 60
    while len(seen) < 120 or (
        len(set(seen)) <= 10 and time.monotonic() < until
    ):  # a busy machine takes longer
        least = sum(tally.answered for tally in tallies)
        seen.append(total(jobs))
        assert least <= seen[-1] <= sum(tally.said for tally in tallies)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert faults == []
    assert seen == sorted(seen)
    assert len(set(seen)) > 10, "costs came in meanwhile"
    assert rows(db, "cost_day") == 2, "and were folded meanwhile"
    assert total(jobs) == sum(tally.answered for tally in tallies)
    while fold(jobs):
        pass
    assert total(jobs) == sum(jobs.get(word.job_id).cost_cents for word in held)


def test_a_bound_role_folds_what_is_its_own(db: Database, jobs: Session, other: Session) -> None:
    for session in (jobs, other):
        session.enqueue(f"kind-{session.tenant}")
        session.cost((session.claim_one(kinds=[f"kind-{session.tenant}"]), 3, "stamps"))
    db.execute(
        "insert into windlass_data.role_tenant values ('test_worker', %s)", jobs.tenant, role="superuser"
    )
    assert fold(Session(db.connection("worker"))) == 1
    left = db.fetch("select tenant_id from windlass_data.cost_delta", role="superuser")
    assert [row.tenant_id for row in left] == [other.tenant]


@pytest.mark.parametrize("limit", [None, 0, -1, 100_001])
def test_a_limit_out_of_range_is_refused(jobs: Session, limit: Any) -> None:
    with refused("WL007"):
        fold(jobs, limit)


def test_entries_go_with_their_jobs_and_the_sums_stay(db: Database, jobs: Session, clock: Clock) -> None:
    """One by one, and with their day; of a day that went, what outlives it keeps its entries."""
    past = Past(db, clock, jobs)
    past.make(40)
    ends = {"succeeded": past.jobs.complete, "dead": lambda held: jobs.fail(held, outcomes=["canceled"])}
    ids = {}
    for age, how, end in ((40, "gone", "succeeded"), (40, "kept", "dead"), (50, "rest", "succeeded")):
        ids[how] = past.enqueue(age)
        with past.at(age):
            held = past.claim(ids[how])
            jobs.cost((held, 7, "stamps"), (held, 1, "glue"))
            ends[end](held)
    assert past.prune_all(succeeded=30, canceled=None, dead=None) == ([past.day(40)], 1)
    assert rows(db, "cost") == 4, "those of the dropped day are removed later"
    for left in (2, 2):
        jobs.value("select ran from windlass.maintain()")
        assert rows(db, "cost") == left
    assert rows(db, "dropped_day") == 0
    assert sorted(entries(jobs, ids["kept"])) == [(1, 1, "glue"), (1, 7, "stamps")]
    assert jobs.get(ids["kept"]).cost_cents == 8
    assert sums(jobs, "day") == {past.day(50): 8, past.day(40): 16}


def test_entries_of_a_dropped_day_are_looked_through_a_few_at_a_time(
    db: Database, jobs: Session, clock: Clock
) -> None:
    past = Past(db, clock, jobs)
    past.make(40)
    for how in ("succeeded", "dead", "succeeded", "succeeded"):
        job_id = past.enqueue(40, max_attempts=1)
        with past.at(40):
            held = past.claim(job_id)
            jobs.cost((held, 1, "x"), (held, 2, "y"))
            jobs.complete(held) if how == "succeeded" else jobs.fail(held)
    assert past.prune(dead=None).dropped == [past.day(40)]
    counts = []
    while rows(db, "dropped_day"):
        db.execute("select windlass._forget_costs(3)", role="superuser")
        counts.append(rows(db, "cost"))
    assert counts[-1] == 2
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) > 1, "not all at once"
