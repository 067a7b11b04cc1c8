"""survey_lanes: a worker that looks from its marks on sees every job sooner or later."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole
from tests.support import Clock, Database
from windlass.db.rpc import OpenLane, Survey
from windlass.model import ClaimedJob
from windlass.worker import turns as turns_module
from windlass.worker.turns import Turns

pytestmark = pytest.mark.every_version


@pytest.fixture(autouse=True)
def every_job_moves_its_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "STRIDE", 1)


class Knower:
    """A worker's claims and surveys, with nothing but what it remembers between them."""

    def __init__(self, jobs: Session) -> None:
        self.jobs = jobs
        self.turns = Turns()

    def claim(self, limit: int = 10) -> list[UUID]:
        plan = self.turns.plan(limit)
        known = plan.known
        rows = self.jobs.call(
            "select job_id, lane_id, seq from windlass.claim_jobs(%s, array['default'], null, %s, 30, false, "
            "%s::int[], %s::bigint[], %s, %s)",
            self.jobs.node,
            plan.want,
            list(known.lanes),
            list(known.marks),
            known.only,
            known.since,
        )
        taken: list[Any] = [_Taken(row.lane_id, row.seq) for row in rows]
        self.turns.taken(plan, taken)
        return [row.job_id for row in rows]

    def survey(self, *, describe: bool = False) -> Survey:
        known = self.turns.known()
        rows = self.jobs.call(
            "select * from windlass.survey_lanes(%s, array['default'], null, %s::int[], %s::bigint[], "
            "%s::bigint[], %s, %s)",
            self.jobs.node,
            [lane for lane, _, _ in known],
            [floor for _, floor, _ in known],
            [mark for _, _, mark in known],
            self.turns.since,
            describe,
        )
        lanes = [OpenLane._make(row[:6]) for row in rows if row[1] is not None]
        survey = Survey(lanes, {row[0]: row[5] for row in rows[1:] if row[1] is None}, *rows[0][6:])
        self.turns.learn(survey, described=describe)
        return survey

    def settle(self) -> None:
        """Survey until no mark is in doubt; three are enough where nobody is in the way."""
        for _ in range(4):
            self.survey()
        assert not self.turns.in_doubt


class _Taken:
    def __init__(self, lane_id: int, seq: int) -> None:
        self.lane_id, self.seq = lane_id, seq


assert {"lane_id", "seq"} <= set(ClaimedJob._fields)


@pytest.fixture
def knower(jobs: Session) -> Knower:
    jobs.enqueue()  # the lane is there: making one would have others wait
    jobs.complete(jobs.claim_one())
    return Knower(jobs)


@pytest.fixture
def late(db: Database) -> Session:
    """Somebody who enqueues and takes their time to commit."""
    return Session(db.connect(autocommit=False))


def test_a_claim_from_its_marks_takes_what_comes_after_them(jobs: Session, knower: Knower) -> None:
    first = [jobs.enqueue() for _ in range(5)]
    assert knower.claim(3) == first[:3]
    more = [jobs.enqueue() for _ in range(2)]
    assert knower.claim(10) == first[3:] + more
    assert knower.claim(10) == []
    knower.settle()


def test_what_is_committed_late_is_hidden_until_the_next_survey_only(
    db: Database, jobs: Session, knower: Knower, late: Session
) -> None:
    hidden = late.enqueue()
    seen = [jobs.enqueue() for _ in range(3)]
    assert knower.claim() == seen
    knower.survey()
    knower.survey()
    assert knower.turns.in_doubt, "a transaction of that time is still open"
    late.conn.commit()
    assert knower.claim() == [], "its place lies behind the mark"
    assert knower.survey().heads
    assert knower.claim() == [hidden]
    knower.settle()
    assert_whole(db)


def test_a_floor_never_passes_a_place_that_is_taken_and_not_committed(
    db: Database, jobs: Session, knower: Knower, late: Session
) -> None:
    """However often is looked, and however many others come and go meanwhile."""
    hidden = late.enqueue()
    for _ in range(5):
        jobs.enqueue()
        knower.claim()
        knower.survey()
    others = Session(db.connect(autocommit=False))
    also_hidden = others.enqueue()
    jobs.enqueue()
    knower.claim()
    late.conn.commit()
    for _ in range(3):
        knower.survey()
    assert knower.claim() == [hidden]
    for _ in range(3):
        knower.survey()
    others.conn.commit()
    knower.survey()
    assert knower.claim() == [also_hidden]


_GUARDED_CLOCK = """
create or replace function windlass_data.clock() returns timestamptz language sql volatile as
'select pg_catalog.clock_timestamp() + pg_catalog.make_interval(
   secs => 0 / (pg_catalog.pg_current_xact_id_if_assigned() is not null)::int)'
"""


def test_a_floor_never_passes_a_place_at_which_no_survey_has_looked(
    db: Database, jobs: Session, knower: Knower, late: Session
) -> None:
    """A survey that is not yet sure takes the mark back; the next one looks no further than that."""
    old = Session(db.connect(autocommit=False))
    old.value("select pg_current_xact_id()::text")  # an older transaction, of anybody
    first, second = late.enqueue(), late.enqueue()
    seen = jobs.enqueue()
    assert knower.claim() == [seen]
    for _ in range(2):
        knower.survey()
    late.conn.commit()
    assert knower.survey().heads
    assert knower.claim(1) == [first], "the mark lies between the two"
    old.conn.commit()
    knower.survey()
    other = Session(db.connect(autocommit=False))
    assert [row.job_id for row in other.claim(1)] == [second]
    last = jobs.enqueue()
    assert knower.claim() == [last]
    other.conn.rollback()
    knower.survey()
    assert knower.claim() == [second]


@pytest.mark.parametrize("known", ["a lane that ran dry", "a lane that is new to it"])
def test_a_floor_never_passes_the_place_of_the_newest_transaction(
    db: Database, jobs: Session, knower: Knower, late: Session, known: str
) -> None:
    """No snapshot says that it is there: to all of them it is one that will begin.

    The mark moves to what a survey sees, without a claim, whose own number would be newer still.
    """
    if known == "a lane that ran dry":
        jobs.enqueue()
        assert len(knower.claim()) == 1
        assert knower.claim() == []
        knower.settle()
    older = Session(db.connect(autocommit=False))
    older.value("select pg_current_xact_id()::text")
    hidden = late.enqueue()
    seen = older.enqueue()
    older.conn.commit()
    for _ in range(3):
        knower.survey(describe=True)
    late.conn.commit()
    found = []
    for _ in range(3):
        knower.survey(describe=True)
        found += knower.claim()
    assert sorted(found) == sorted([hidden, seen])


def test_a_floor_never_passes_the_place_of_who_is_newer_than_the_survey_that_moved_the_mark(
    db: Database, jobs: Session, knower: Knower, late: Session
) -> None:
    """A survey has its number before it looks."""
    jobs.enqueue()
    assert len(knower.claim()) == 1
    assert knower.claim() == []
    knower.settle()
    with jobs.conn.transaction():
        jobs.value("select pg_current_xact_id()::text")
        older = Session(db.connect(autocommit=False))
        older.value("select pg_current_xact_id()::text")
        hidden = late.enqueue()
        seen = older.enqueue()
        older.conn.commit()
        assert knower.survey().heads
    for _ in range(3):
        knower.survey()
    late.conn.commit()
    found = []
    for _ in range(3):
        knower.survey()
        found += knower.claim()
    assert sorted(found) == sorted([hidden, seen])


@pytest.mark.parametrize(
    "call",
    [
        "windlass.enqueue_job(%s, 'mail', '{}')",
        "windlass.enqueue_job(%s, 'mail', '{}', p_run_at => now() + interval '1 h')",
        "windlass.enqueue_job(%s, 'mail', '{}', p_key => 'k')",
        """windlass.enqueue_jobs(%s, '[{"kind": "mail", "payload": {}}]')""",
        """windlass.enqueue_many(%s, '{"kind": "mail"}', '[{}]', array[gen_random_uuid()])""",
        "windlass.reschedule_job(%s, (select j.id from windlass_data.job as j limit 1))",
    ],
)
def test_a_transaction_has_its_number_before_it_reads_the_clock_and_takes_a_place(
    db: Database, jobs: Session, call: str
) -> None:
    """Else a survey could believe that all of its time have ended.  The clock here fails without a number."""
    jobs.enqueue(run_at=None)
    db.execute(_GUARDED_CLOCK, role="superuser")
    conn = db.connect("superuser")
    with pytest.raises(psycopg.errors.DivisionByZero):
        conn.execute("select windlass_data.clock()")
    conn.execute(f"select * from {call}".encode(), [jobs.tenant])


def test_what_somebody_holds_and_lets_go_is_found_again(
    db: Database, jobs: Session, knower: Knower, late: Session
) -> None:
    order = [jobs.enqueue() for _ in range(6)]
    late.cancel(order[1])
    assert knower.claim() == [order[0], *order[2:]]
    for _ in range(3):
        knower.survey()
    assert knower.claim() == []
    late.conn.rollback()
    knower.survey()
    assert knower.claim() == [order[1]]
    knower.settle()


def test_what_another_claim_takes_and_gives_back_is_found_again(
    db: Database, jobs: Session, knower: Knower
) -> None:
    first = [jobs.enqueue() for _ in range(4)]
    other = Session(db.connect(autocommit=False))
    assert [row.job_id for row in other.claim(2)] == first[:2]
    assert knower.claim() == first[2:]
    knower.survey()
    other.conn.rollback()
    knower.survey()
    assert knower.claim() == first[:2]


def test_jobs_that_come_back_lie_after_every_mark(db: Database, jobs: Session, knower: Knower) -> None:
    job_id = jobs.enqueue()
    (row,) = jobs.claim(1)
    jobs.enqueue()
    knower.claim()
    knower.settle()
    jobs.release(row)
    assert knower.claim() == [job_id]


def test_a_job_that_keeps_its_place_keeps_its_row(db: Database, jobs: Session, late: Session) -> None:
    """A row that is written anew at an old place would lie behind every mark."""
    job_id = jobs.enqueue()
    query = "select ctid, xmin from windlass_data.ready where job_id = %s"
    before = db.fetch(query, job_id, role="superuser")
    jobs.call("select windlass.reschedule_job(%s, %s)", jobs.tenant, job_id)
    assert db.fetch(query, job_id, role="superuser") == before
    assert_whole(db)


def test_a_survey_puts_into_line_what_is_due(
    db: Database, jobs: Session, knower: Knower, clock: Clock
) -> None:
    now = clock.freeze()
    soon = jobs.enqueue(run_at=now + timedelta(seconds=5))
    clock.freeze(now + timedelta(seconds=6))
    knower.survey()
    assert db.fetch_value("select count(*) from windlass_data.scheduled", role="superuser") == 0
    assert knower.claim() == [soon]


def test_what_is_scheduled_late_is_not_before_the_time_that_was_seen(
    jobs: Session, knower: Knower, late: Session, clock: Clock
) -> None:
    now = clock.freeze()
    hidden = late.enqueue(run_at=now + timedelta(seconds=5))
    for second in range(10, 40, 10):
        clock.freeze(now + timedelta(seconds=second))
        knower.survey()
    assert knower.turns.since is None
    late.conn.commit()
    knower.survey()
    assert knower.claim() == [hidden]
    for second in range(50, 80, 10):
        clock.freeze(now + timedelta(seconds=second))
        knower.survey()
    since = knower.turns.since
    assert since is not None
    assert since >= now + timedelta(seconds=50)


def test_more_flows_than_a_claim_takes_jobs_take_turns(
    db: Database, jobs: Session, other: Session, knower: Knower
) -> None:
    for session in (jobs, other):
        for _ in range(3):
            session.enqueue()
    knower.survey(describe=True)
    tenants = [
        db.fetch_value("select tenant_id from windlass_data.job where id = %s", job_id, role="superuser")
        for _ in range(6)
        for job_id in knower.claim(1)
    ]
    rounds = [sorted(tenants[start : start + 2]) for start in (0, 2, 4)]
    assert rounds == [sorted({jobs.tenant, other.tenant})] * 3


def test_only_means_only(db: Database, jobs: Session) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b")
    lane = db.fetch_value("select id from windlass_data.lane where kind = 'a'", role="superuser")
    text = "select kind from windlass.claim_jobs(%s, array['default'], null, 10, 30, false, %s, '{0}', true)"
    assert [row.kind for row in jobs.call(text, jobs.node, [lane])] == ["a"]


def test_a_gate_and_foreign_queues_hold_for_named_lanes_too(db: Database, jobs: Session) -> None:
    jobs.enqueue("a")
    jobs.enqueue("b", queue="other")
    lanes = db.fetch("select id from windlass_data.lane", role="superuser")
    named = [row.id for row in lanes]
    text = "select kind from windlass.claim_jobs(%s, array['default'], null, 10, 30, false, %s, %s, true)"
    jobs.call("select windlass.set_gate(p_everything => true)")
    assert jobs.call(text, jobs.node, named, [0] * len(named)) == []
    jobs.call("select windlass.clear_gate()")
    assert [row.kind for row in jobs.call(text, jobs.node, named, [0] * len(named))] == ["a"]


def test_a_bound_worker_is_told_nothing_of_others(db: Database, jobs: Session, other: Session) -> None:
    jobs.enqueue(run_at=None)
    lane = db.fetch_value("select id from windlass_data.lane", role="superuser")
    db.execute("select windlass.bind_role('test_worker', %s)", other.tenant, role="app")
    bound = Session(db.connection("worker"), tenant=other.tenant)
    rows = bound.call(
        "select * from windlass.survey_lanes(%s, array['default'], null, %s, '{0}', '{null}')",
        bound.node,
        [lane],
    )
    assert [row.lane_id for row in rows] == [None]


@pytest.mark.parametrize(
    "given",
    ["null, array['q']", "gen_random_uuid(), null", "gen_random_uuid(), array['q'], null, '{1}', '{}', '{}'"],
)
def test_bad_input(jobs: Session, given: str) -> None:
    with refused("WL007"):
        jobs.call(f"select * from windlass.survey_lanes({given})")
