"""begin_jobs: no job is given up for a last attempt whose handler was not called."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.steps import OTHER_TENANT, Session, Word, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def last_attempt(jobs: Session, job_id: UUID) -> tuple[str, int, str | None, Any]:
    """How it ended, how many counted with it, what the job became, and what is known of its beginning."""
    query = "select outcome, counted, error from windlass.list_attempts(%s, %s) order by number desc"
    row = jobs.call(query, jobs.tenant, job_id)[0]
    return row.outcome, row.counted, jobs.state(job_id), row.error.get("begun", "not said")


def dies(jobs: Session, clock: Clock) -> None:
    clock.advance(31)
    assert jobs.expire()


def test_what_was_not_begun_is_given_back_and_the_rest_given_up(
    db: Database, jobs: Session, clock: Clock
) -> None:
    ids = [jobs.enqueue(max_attempts=1) for _ in range(3)] + [jobs.enqueue(max_attempts=2)]
    idle, called, about, early = jobs.claim(4, begins=True)
    assert [row.job_id for row in (idle, called, about, early)] == ids
    assert jobs.begin(called, about, called=[True, False]) == []
    dies(jobs, clock)
    found = [last_attempt(jobs, job_id) for job_id in ids]
    assert found == [
        ("released", 0, "queued", False),
        ("crashed", 1, "dead", "not said"),
        ("released", 0, "queued", None),
        ("crashed", 1, "queued", "not said"),
    ]
    assert "not called" in jobs.get(ids[0]).error["message"]
    assert "not known" in jobs.get(ids[2]).error["message"]
    assert_whole(db)


def test_who_says_nothing_of_beginnings_has_begun_all(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    held = jobs.claim_one()
    with nothing_changed(db):
        assert jobs.begin(held, called=[False]) == []
    dies(jobs, clock)
    assert last_attempt(jobs, job_id) == ("crashed", 1, "dead", "not said")


def test_nothing_is_written_to_a_lease_whose_holder_says_nothing_of_beginnings(
    db: Database, jobs: Session, clock: Clock
) -> None:
    other, called = jobs.enqueue(max_attempts=1), jobs.enqueue(max_attempts=1)
    held = jobs.claim(2)
    with nothing_changed(db):
        assert jobs.begin(held[1], called=[True]) == []
    dies(jobs, clock)
    assert [jobs.state(job_id) for job_id in (other, called)] == ["dead", "dead"]


def test_a_job_that_is_never_begun_is_never_given_up(db: Database, jobs: Session, clock: Clock) -> None:
    """Whatever it is that kills its workers, it is not this one."""
    job_id = jobs.enqueue(max_attempts=2)
    for version in range(1, 7):
        assert jobs.claim_one(begins=True).version == version
        dies(jobs, clock)
        assert jobs.state(job_id) == "queued"
    assert jobs.get(job_id).counted == 1, "the first was not its last, and nobody asks for those"
    held = jobs.claim_one(begins=True)
    jobs.begin(held)
    dies(jobs, clock)
    assert last_attempt(jobs, job_id) == ("crashed", 2, "dead", "not said")
    assert_whole(db)


def test_a_job_that_kills_its_worker_as_it_begins_is_given_one_chance_more(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    outcomes = []
    for _ in range(2):
        jobs.begin(jobs.claim_one(begins=True), called=[False])
        dies(jobs, clock)
        outcomes.append(last_attempt(jobs, job_id))
    assert outcomes == [("released", 0, "queued", None), ("crashed", 1, "dead", "not said")]
    assert jobs.call("select windlass.redrive_jobs(%s, %s)", jobs.tenant, [job_id])
    jobs.begin(jobs.claim_one(begins=True), called=[False])
    dies(jobs, clock)
    assert last_attempt(jobs, job_id) == ("released", 0, "queued", None), "it has its chance in each life"
    assert_whole(db)


def test_what_was_certainly_not_begun_in_between_gives_no_further_chance(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    begins = 0
    while jobs.state(job_id) == "queued":
        jobs.begin(jobs.claim_one(begins=True), called=[False])
        begins += 1
        dies(jobs, clock)
        for _ in range(2 if jobs.state(job_id) == "queued" else 0):
            jobs.claim_one(begins=True)
            dies(jobs, clock)
        assert begins <= 2
    assert (begins, last_attempt(jobs, job_id)) == (2, ("crashed", 1, "dead", "not said"))
    assert_whole(db)


def test_a_failure_counts_whatever_was_said_of_its_beginning(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    assert [row.state for row in jobs.fail(jobs.claim_one(begins=True))] == ["dead"]
    assert jobs.get(job_id).counted == 1


def test_a_cancel_ends_what_was_not_begun(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue(max_attempts=1)
    jobs.claim_one(begins=True)
    jobs.cancel(job_id)
    dies(jobs, clock)
    assert jobs.state(job_id) == "canceled"


def test_every_way_of_claiming_knows_of_beginnings(
    db: Database, jobs: Session, clock: Clock, subtests: pytest.Subtests
) -> None:
    """One lane, lanes by turns, lanes by name."""
    claim = "select * from windlass.claim_jobs(%s, '{default}', p_limit => 10, p_begins => true"
    lanes = "select array_agg(id order by id) as lanes, array_agg(0::bigint) as marks from windlass_data.lane"
    for kinds in (["a"], ["a", "b"]):
        ids = [jobs.enqueue(kind, max_attempts=1) for kind in kinds]
        for name, more in {"open": "", "named": ", p_lanes => %s, p_marks => %s, p_only => true"}.items():
            named = list(db.fetch_row(lanes, role="superuser")) if more else []
            with subtests.test(kinds=kinds, name=name):
                assert len(jobs.call(f"{claim}{more})", jobs.node, *named)) >= len(ids)
                dies(jobs, clock)
                assert {jobs.state(job_id) for job_id in ids} == {"queued"}


def test_a_word_said_again_changes_nothing(db: Database, jobs: Session) -> None:
    jobs.enqueue(max_attempts=1)
    jobs.enqueue(max_attempts=1)
    one, two = jobs.claim(2, begins=True)
    assert jobs.begin(one, one, two, called=[False, False, True]) == []
    with nothing_changed(db):
        assert jobs.begin(one, two, called=[False, True]) == []
        assert jobs.begin() == []
    assert jobs.begin(one) == []
    with nothing_changed(db):
        assert jobs.begin(two, one) == []
    jobs.complete(one)
    assert jobs.begin(one, two) == [(one.job_id, "lease_lost")], "each is judged by itself"


def test_bad_input_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    jobs.enqueue(max_attempts=1)
    held = jobs.claim_one(begins=True)
    for called in ([], [True, False], [None], [[True]]):
        with subtests.test(called=called), nothing_changed(db), refused("WL007"):
            jobs.begin(held, called=called)  # type: ignore[arg-type]
    token, job = [held.token], [held.job_id]
    for words in ([None, job], [token, None], [token, []], [token, [None]], [[None], job], [[token], [job]]):
        with subtests.test(words=words), nothing_changed(db), refused("WL007"):
            jobs.call("select windlass.begin_jobs(%s::uuid[], %s::uuid[])", *words)


def test_a_bound_role_begins_nothing_of_another_tenant(db: Database, jobs: Session, other: Session) -> None:
    other.enqueue(max_attempts=1)
    held = other.claim_one(begins=True)
    db.fetch("select windlass.bind_role('test_worker', %s)", jobs.tenant)
    bound = Session(db.connection("worker"), OTHER_TENANT)
    with nothing_changed(db):
        assert bound.begin(held) == [(held.job_id, "lease_lost")]
        assert bound.begin(Word(uuid4(), held.job_id)) == [(held.job_id, "lease_lost")]
    assert other.begin(held) == []
