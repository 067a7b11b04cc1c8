"""record_costs: what an attempt cost is written while it runs, with its token, once, and stays."""

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.ledger import entries, sums, total
from tests.sql.steps import Session, Word, refused
from tests.sql.two import Two
from tests.sql.whole import assert_whole, lapse, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def shown(jobs: Session, job_id: UUID) -> list[tuple[Any, ...]]:
    """Outcome and cost of each attempt; the view must say the same."""
    columns, place = "outcome, cost_cents", "order by number"
    rows = jobs.call(f"select {columns} from windlass.list_attempts(%s, %s) {place}", jobs.tenant, job_id)
    with jobs.conn.transaction():
        jobs.call("select set_config('windlass.tenant_id', %s, true)", str(jobs.tenant))
        seen = jobs.call(f"select {columns} from windlass.attempts where job_id = %s {place}", job_id)
    assert seen == rows
    return [tuple(row) for row in rows]


def test_a_cost_is_there_while_the_attempt_runs(jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    assert jobs.cost((held, 3, "stamps"), (held, 0, "a free sample")) == ["ok", "ok"]
    assert jobs.cost((held, 10**12, "gold")) == ["ok"]
    assert jobs.get(job_id).cost_cents == 10**12 + 3
    assert shown(jobs, job_id) == [(None, 10**12 + 3)]
    assert sorted(entries(jobs, job_id)) == [
        (1, 0, "a free sample"),
        (1, 3, "stamps"),
        (1, 10**12, "gold"),
    ]
    assert sums(jobs, "kind") == {"mail": 10**12 + 3}


def test_it_stays_however_the_attempt_ends(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue(max_attempts=9)
    ends: dict[str, Any] = {
        "failed": lambda held: jobs.fail(held, delays=[0]),
        "released": jobs.release,
        "snoozed": lambda held: jobs.snooze(held, delays=[0]),
        "crashed": lambda held: (clock.advance(31), jobs.expire()),
        "succeeded": jobs.complete,
    }
    for cents, end in enumerate(ends.values(), 1):
        held = jobs.claim_one(lease=30)
        assert jobs.cost((held, cents, "stamps")) == ["ok"]
        end(held)
    assert shown(jobs, job_id) == list(zip(ends, range(1, 6), strict=True))
    assert entries(jobs, job_id) == [(number, number, "stamps") for number in range(1, 6)]
    assert jobs.get(job_id).cost_cents == total(jobs) == 15
    assert_whole(db)


def test_a_cost_and_an_outcomes_cost_are_added_up_once(jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.cost((held, 3, "stamps"))
    with jobs.conn.transaction():
        jobs.finish(held, cost=5)
    assert jobs.get(job_id).cost_cents == 8
    assert shown(jobs, job_id) == [("succeeded", 8)]
    assert entries(jobs, job_id) == [(1, 3, "stamps"), (1, 5, None)]
    assert total(jobs) == 8
    (done,) = jobs.call("select details from windlass.list_events(%s)", jobs.tenant)
    assert done.details["cost_cents"] == 8


def test_the_same_said_again_counts_once(db: Database, jobs: Session) -> None:
    """As a worker does that got no answer."""
    job_id = jobs.enqueue()
    held, first, second = jobs.claim_one(), uuid4(), uuid4()
    words = (held, 3, "stamps"), (held, 4, "paper"), (held, 3, "stamps")
    assert jobs.cost(*words, ids=[first, second, first]) == ["ok"] * 3
    with nothing_changed(db):
        assert jobs.cost(*words, ids=[first, second, first]) == ["ok"] * 3
    assert jobs.cost(words[0], (held, 1, "glue"), ids=[second, uuid4()]) == ["ok"] * 2
    assert jobs.get(job_id).cost_cents == total(jobs) == 8
    jobs.fail(held, delays=[0])
    assert jobs.cost((jobs.claim_one(), 2, "stamps"), ids=[first]) == ["ok"], "of another attempt"
    assert jobs.get(job_id).cost_cents == total(jobs) == 10


def test_the_same_said_again_after_the_end_was_heard(db: Database, jobs: Session) -> None:
    """Its answer may have been lost, and the lease with it: nothing is written, and nothing was lost."""
    jobs.enqueue()
    held, said = jobs.claim_one(), uuid4()
    assert jobs.cost((held, 3, "stamps"), ids=[said]) == ["ok"]
    jobs.complete(held)
    words = (held, 3, "stamps"), (held, 4, "stamps"), (held, 3, "paper"), (held, 3, "stamps")
    with nothing_changed(db):
        answers = jobs.cost(*words, ids=[said, said, said, uuid4()])
        assert answers == ["ok", "lease_lost", "lease_lost", "lease_lost"]
        assert jobs.cost((held, 3, "stamps")) == ["lease_lost"]


def test_each_cost_is_judged_by_itself(jobs: Session) -> None:
    for _ in range(3):
        jobs.enqueue()
    done, mine, also = jobs.claim(3)
    jobs.complete(done)
    stranger = Word(uuid4(), mine.job_id)
    said = (mine, 1, "a"), (done, 2, "b"), (stranger, 4, "c"), (also, 8, "d"), (mine, 16, "e")
    assert jobs.cost(*said) == ["ok", "lease_lost", "lease_lost", "ok", "ok"]
    assert [jobs.get(held.job_id).cost_cents for held in (done, mine, also)] == [0, 17, 8]
    assert total(jobs) == 25


@pytest.mark.parametrize(
    ("cents", "whats", "ids"),
    [
        ([-1], ["x"], None),
        ([10**12 + 1], ["x"], None),
        ([None], ["x"], None),
        ([1, 2], ["x"], None),
        (None, ["x"], None),
        ([], [], None),
        ([1], None, None),
        ([1], [None], None),
        ([1], [""], None),
        ([1], ["  "], None),
        ([1], ["x" * 201], None),
        ([1], ["x", "y"], None),
        ([1], ["x"], []),
        ([1], ["x"], [None]),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(
    db: Database, jobs: Session, cents: Any, whats: Any, ids: Any
) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    query = "select * from windlass.record_costs(%s, %s, %s::bigint[], %s::text[], %s::uuid[])"
    with nothing_changed(db), refused("WL007"):
        jobs.call(query, [held.token], [held.job_id], cents, whats, ids)
    assert jobs.cost((held, 1, "x" * 200)) == ["ok"]


def test_no_fraction_of_a_cent_is_rounded_away(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    query = "select windlass.record_costs(array[%s::uuid], array[%s::uuid], array[1.5], array['x'])"
    with nothing_changed(db), pytest.raises(psycopg.errors.UndefinedFunction):
        jobs.call(query, held.token, held.job_id)


def test_an_expiry_passes_over_a_lease_under_which_a_cost_is_written(
    db: Database, jobs: Session, two: Two
) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    lapse(db)
    race = two.race(lambda one: one.cost((held, 3, "stamps")), lambda other: other.expire())
    assert (race.first, race.second, race.waited) == (["ok"], [], False)
    assert jobs.expire() == [(job_id, "queued")]
    assert jobs.get(job_id).cost_cents == total(jobs) == 3


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_cost_that_meets_an_expiry_does_not_wait_and_is_then_too_late(
    db: Database, jobs: Session, two: Two, ending: Any
) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    lapse(db)
    race = two.race(
        lambda one: len(one.expire()), lambda other: other.cost((held, 3, "stamps")), ending=ending
    )
    kept = ending == "rollback"
    assert (race.first, race.second, race.waited) == (1, ["ok" if kept else "lease_lost"], False)
    assert jobs.get(job_id).cost_cents == total(jobs) == (3 if kept else 0)
    assert_whole(db)


def test_a_cost_holds_up_no_other_word_about_the_claim(db: Database, jobs: Session, two: Two) -> None:
    jobs.enqueue()
    jobs.enqueue()
    one, other = jobs.claim(2)
    assert one.token == other.token
    for word in (lambda s: s.complete(other), lambda s: s.renew(one.token)):
        race = two.race(lambda s: s.cost((one, 3, "stamps")), word)
        assert (race.first, race.second, race.waited) == (["ok"], [], False)
    assert_whole(db)


def test_sums_of_any_size_can_be_read(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    held = jobs.claim_one()
    jobs.cost((held, 1, "stamps"))
    db.execute(
        "alter table windlass_data.cost drop constraint cost_cents_check; "
        "update windlass_data.cost set cents = 9223372036854775807; "
        "insert into windlass_data.cost "
        "select tenant_id, job_id, version, gen_random_uuid(), at, cents, what from windlass_data.cost; "
        "update windlass_data.cost_delta set cents = 10::numeric ^ 20",
        role="superuser",
    )
    assert jobs.get(job_id).cost_cents == 2**63 - 1
    assert shown(jobs, job_id) == [(None, 2**63 - 1)]
    assert total(jobs) == 10**20
    jobs.value("select windlass.fold_costs()")
    assert total(jobs) == 10**20


def test_nobody_rewrites_an_entry(db: Database) -> None:
    """Not even the engine, which may do so with most other tables."""
    allowed = "select has_table_privilege('windlass_engine', %s, 'update')"
    assert not db.fetch_value(allowed, "windlass_data.cost", role="superuser")
    assert db.fetch_value(allowed, "windlass_data.cost_day", role="superuser")
