"""list_jobs: every job on exactly one page, in the right order, under every filter, and no one else's."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.operate import bind, call, ids, kill
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def read_all(db: Database, tenant: UUID = DEFAULT_TENANT, limit: int = 3, **filters: Any) -> list[Any]:
    found = [job for page in pages(db, tenant, limit, **filters) for job in page]
    assert None not in ids(found), "a page did not go through with so few jobs"
    return found


def pages(db: Database, tenant: UUID, limit: int, **filters: Any) -> Iterator[list[Any]]:
    cursor = None
    while True:
        page = call(db, "list_jobs", tenant=tenant, limit=limit, cursor=cursor, **filters)
        yield page
        if not page or (len(page) < limit and page[-1].id is not None):
            return
        cursor = page[-1].cursor


def newest_first(made: list[UUID]) -> list[UUID]:
    """Ids are ordered by time; those of one millisecond may stand in any order."""
    return sorted(made, reverse=True)


@pytest.fixture
def one_of_each(jobs: Session, clock: Clock) -> dict[str, UUID]:
    """A job in every state, each called by the state people see."""
    kill(jobs, kind="die")
    dead = kill(jobs, kind="die")
    canceled = jobs.enqueue("cancel")
    jobs.cancel(canceled)
    ends = {}
    for state in ("succeeded", "skipped"):
        ends[state] = jobs.enqueue(state)
        jobs.complete(jobs.claim_one(kinds=[state]), results=[{"state": state}], states=[state])
    stopped = jobs.enqueue("stop")
    jobs.fail(jobs.claim_one(kinds=["stop"]), outcomes=["canceled"])
    retrying = jobs.enqueue("retry")
    jobs.fail(jobs.claim_one(kinds=["retry"]), delays=[60])
    running = jobs.enqueue("run")
    jobs.claim_one(kinds=["run"])
    scheduled = jobs.enqueue("later", run_at=clock.now() + timedelta(hours=1))
    queued = jobs.enqueue("now")
    return {
        "dead": dead,
        "canceled": canceled,
        **ends,
        "stopped": stopped,
        "retrying": retrying,
        "running": running,
        "scheduled": scheduled,
        "queued": queued,
    }


def test_a_row_tells_what_get_job_tells(db: Database, jobs: Session, one_of_each: dict[str, UUID]) -> None:
    for row in read_all(db):
        told = jobs.get(row.id)._asdict()
        listed = row._asdict()
        assert listed.pop("cursor") == f"i.{row.id}"
        assert listed.pop("read_at") <= told.pop("read_at")
        assert listed == told


def test_all_jobs_come_newest_first_on_pages_without_gap_or_repeat(db: Database, jobs: Session) -> None:
    made = [jobs.enqueue() for _ in range(10)]
    for limit in (1, 3, 5, 10, 11):
        assert ids(read_all(db, limit=limit)) == newest_first(made)
    assert len(call(db, "list_jobs", tenant=DEFAULT_TENANT)) == 10


@pytest.mark.parametrize("state", ["dead", "succeeded", "skipped", "running"])
def test_a_state_alone(db: Database, jobs: Session, one_of_each: dict[str, UUID], state: str) -> None:
    found = read_all(db, states=[state], limit=1)
    assert {job.state for job in found} == {state}
    assert one_of_each[state] in ids(found)
    assert len(found) == (2 if state == "dead" else 1)


def test_a_canceled_job_is_found_whether_it_ran_or_not(db: Database, one_of_each: dict[str, UUID]) -> None:
    expected = newest_first([one_of_each["stopped"], one_of_each["canceled"]])
    assert ids(read_all(db, states=["canceled"], limit=1)) == expected


def test_queued_means_every_waiting_job_and_the_shown_states_a_part(
    db: Database, one_of_each: dict[str, UUID]
) -> None:
    queued, scheduled, retrying = (one_of_each[state] for state in ("queued", "scheduled", "retrying"))
    assert ids(read_all(db, states=["queued"], limit=1)) == [queued, *newest_first([scheduled, retrying])]
    assert ids(read_all(db, states=["scheduled"], limit=1)) == [scheduled]
    assert ids(read_all(db, states=["retrying"], limit=1)) == [retrying]
    assert ids(read_all(db, states=["retrying", "scheduled"], limit=1)) == newest_first([scheduled, retrying])


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["dead", "running"], {"dead", "running"}),
        (["succeeded", "skipped", "canceled"], {"succeeded", "skipped", "canceled"}),
        (["queued", "running"], {"queued", "running"}),
        (["scheduled", "dead", "dead"], {"queued", "dead"}),
        (["blocked"], set()),
        (["blocked", "running"], {"running"}),
    ],
)
def test_several_states(
    db: Database, one_of_each: dict[str, UUID], states: list[str], expected: set[str]
) -> None:
    found = read_all(db, states=states, limit=2)
    assert {job.state for job in found} == expected
    everything = read_all(db)
    shown = [job.id for job in everything if job.state in states or shown_state(job) in states]
    assert ids(found) == shown


def shown_state(job: Any) -> str:
    if job.state != "queued":
        return str(job.state)
    if job.counted:
        return "retrying"
    return "scheduled" if job.run_at > job.read_at else "queued"


def test_waiting_jobs_come_in_the_order_of_the_claim(db: Database, jobs: Session, clock: Clock) -> None:
    later = [jobs.enqueue(priority=p, run_at=clock.now() + timedelta(hours=1)) for p in (9, 0)]
    low = [jobs.enqueue(kind, priority=-1) for kind in ("a", "b", "a")]
    high = [jobs.enqueue(kind, priority=5) for kind in ("a", "b", "c")]
    middle = [jobs.enqueue(kind) for kind in ("b", "a")]
    expected = [*high, *middle, *low, *newest_first(later)]
    for limit in (1, 2, 3, 50):
        assert ids(read_all(db, states=["queued"], limit=limit)) == expected
    assert [row.job_id for row in jobs.claim(9)] == expected[:8]


def test_queues_and_kinds_narrow_every_listing(db: Database, jobs: Session) -> None:
    made = {
        (queue, kind): [jobs.enqueue(kind, queue=queue) for _ in range(3)]
        for queue in ("a", "b")
        for kind in ("x", "y")
    }
    for states in (None, ["queued"], ["queued", "dead"]):
        one = read_all(db, states=states, queues=["a"], kinds=["y"], limit=2)
        assert set(ids(one)) == set(made["a", "y"])
        assert {(job.queue, job.kind) for job in one} == {("a", "y")}
        some = read_all(db, states=states, kinds=["x", "none"], limit=2)
        assert set(ids(some)) == {*made["a", "x"], *made["b", "x"]}
        assert read_all(db, states=states, kinds=["none"]) == []
        assert read_all(db, states=states, queues=[]) == []
    assert read_all(db, states=["dead"], kinds=["x"]) == []


def test_jobs_of_one_correlation(db: Database, jobs: Session) -> None:
    order = [jobs.enqueue(correlation_id="order-1") for _ in range(4)]
    jobs.enqueue(correlation_id="order-2")
    jobs.cancel(order[1])
    assert ids(read_all(db, correlation_id="order-1", limit=2)) == newest_first(order)
    assert ids(read_all(db, correlation_id="order-1", states=["canceled"])) == [order[1]]
    assert ids(read_all(db, correlation_id="order-1", states=["queued"], limit=1)) == newest_first(
        [order[0], *order[2:]]
    )
    assert read_all(db, correlation_id="order-1", kinds=["none"]) == []
    assert read_all(db, correlation_id="nothing") == []


def test_created_from_is_included_and_created_to_is_not(db: Database, jobs: Session, clock: Clock) -> None:
    start = clock.freeze()
    made = []
    for hours in range(4):
        clock.freeze(start + timedelta(hours=hours))
        made.append(jobs.enqueue())
    for states in (None, ["queued"]):
        found = read_all(
            db, states=states, created_from=start + timedelta(hours=1), created_to=start + timedelta(hours=3)
        )
        assert set(ids(found)) == {made[1], made[2]}


def test_jobs_enqueued_meanwhile_disturb_no_page(db: Database, jobs: Session) -> None:
    made = [jobs.enqueue() for _ in range(9)]
    for states in (None, ["queued"]):
        seen = []
        for page in pages(db, DEFAULT_TENANT, 2, states=states):
            seen += [job.id for job in page if job.id in made]
            jobs.enqueue()
            jobs.enqueue(priority=9)
            if len(seen) >= len(made):
                break
        assert sorted(seen) == sorted(made)


def test_jobs_that_end_meanwhile_leave_the_listing_of_all_whole(db: Database, jobs: Session) -> None:
    made = [jobs.enqueue() for _ in range(8)]
    seen = []
    for page in pages(db, DEFAULT_TENANT, 2):
        seen += ids(page)
        jobs.complete(jobs.claim_one())
    assert seen == newest_first(made)


def test_a_page_is_full_however_far_apart_its_jobs_lie(db: Database, jobs: Session) -> None:
    rows = jobs.enqueue_many(
        [{"kind": "rare" if n % 500 == 0 else "mail", "payload": n} for n in range(2500)]
    )
    rare = [row.job_id for row in rows if row.ordinal % 500 == 1]
    assert len(rare) == 5
    assert ids(call(db, "list_jobs", tenant=DEFAULT_TENANT, kinds=["rare"])) == newest_first(rare)
    assert ids(read_all(db, kinds=["rare"], limit=2)) == newest_first(rare)


def test_an_id_made_by_a_caller_with_another_clock_is_listed(db: Database, jobs: Session) -> None:
    made = {jobs.enqueue(id=uuid4()) for _ in range(5)} | {jobs.enqueue(id=UUID(int=7))}
    assert set(ids(read_all(db, limit=2))) == made
    assert set(ids(read_all(db, states=["queued"], limit=2))) == made


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"limit": 0}, "1 to 1000"),
        ({"limit": 1001}, "1 to 1000"),
        ({"limit": None}, "1 to 1000"),
        ({"states": ["done"]}, "'done'"),
        ({"states": ["queued", None]}, "state"),
        ({"states": []}, "empty"),
        ({"cursor": ""}, "cursor"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "i.not-a-uuid"}, "cursor"),
        ({"cursor": f"i.{UNKNOWN}x"}, "cursor"),
        ({"cursor": "r.0.1"}, "cursor"),
        ({"cursor": f"i.{UNKNOWN}", "states": ["queued"]}, "cursor"),
        ({"cursor": "r.1", "states": ["queued"]}, "cursor"),
        ({"cursor": "r.999999.1", "states": ["queued"]}, "cursor"),
        ({"cursor": "r.1.1'; select", "states": ["queued"]}, "cursor"),
    ],
)
def test_bad_input_is_refused(db: Database, wrong: dict[str, Any], match: str) -> None:
    with nothing_changed(db), refused("WL007", match):
        call(db, "list_jobs", tenant=DEFAULT_TENANT, **wrong)


def test_a_cursor_far_out_of_range_is_an_empty_page(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    for cursor in ("r.99999.999999999999999999", "r.-99999.0", f"s.{UUID(int=0)}"):
        assert len(call(db, "list_jobs", tenant=DEFAULT_TENANT, states=["queued"], cursor=cursor)) <= 1


def test_other_tenants_are_invisible(db: Database, jobs: Session, other: Session) -> None:
    mine, theirs = jobs.enqueue(correlation_id="c"), other.enqueue(correlation_id="c")
    kill(jobs, kind="die")
    foreign_dead = kill(other, kind="die")
    for filters in ({}, {"states": ["queued"]}, {"states": ["dead"]}, {"correlation_id": "c"}):
        assert {job.tenant_id for job in read_all(db, OTHER_TENANT, **filters)} == {OTHER_TENANT}
        assert {job.tenant_id for job in read_all(db, **filters)} == {DEFAULT_TENANT}
    assert mine not in ids(read_all(db, OTHER_TENANT))
    assert set(ids(read_all(db, OTHER_TENANT))) == {theirs, foreign_dead}
    assert read_all(db, UNKNOWN) == []


def test_a_bound_role_reads_its_tenant_only(db: Database, jobs: Session, other: Session) -> None:
    jobs.enqueue()
    theirs = other.enqueue()
    bind(db, "reader", OTHER_TENANT)
    assert ids(call(db, "list_jobs", tenant=OTHER_TENANT, role="reader")) == [theirs]
    for tenant in (DEFAULT_TENANT, UNKNOWN):
        with refused("WL005", "bound"):
            call(db, "list_jobs", tenant=tenant, role="reader")
    with refused("WL005"):
        call(db, "list_jobs", tenant=None)


def test_it_works_in_a_read_only_transaction_and_puts_the_tenant_back(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue()
    conn = db.connect("reader")
    with conn.transaction():
        conn.execute("set transaction read only")
        (row,) = conn.execute("select * from windlass.list_jobs(%s)", [DEFAULT_TENANT]).fetchall()
        assert row.id == job_id
        ((setting,),) = conn.execute("select current_setting('windlass.tenant_id', true)").fetchall()
        assert setting in ("", None)
