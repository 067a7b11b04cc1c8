"""claim_jobs: who gets which job, in which order, and what a claim gives."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.steps import NODE, OTHER_TENANT, Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def ids(rows: list[Any]) -> list[UUID]:
    return [row.job_id for row in rows]


def set_gate(db: Database, **scope: Any) -> None:
    columns = {"reason": "test", "actor": "test", **scope}
    names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
    query = f"insert into windlass_data.gate ({names}) values ({places})"
    db.execute(query, *columns.values(), role="superuser")


def test_a_claim_gives_all_that_a_worker_needs(db: Database, jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    job_id = jobs.enqueue(
        "mail",
        {"n": 1},
        queue="q",
        priority=4,
        max_attempts=3,
        timeout_ms=500,
        trace_id="t",
        correlation_id="c",
    )
    row = jobs.claim_one(queues=["q"], lease=12.5)
    assert (row.job_id, row.tenant_id, row.queue, row.kind) == (job_id, jobs.tenant, "q", "mail")
    assert (row.priority, row.payload, row.max_attempts, row.timeout_ms) == (4, {"n": 1}, 3, 500)
    assert (row.version, row.counted) == (1, 0)
    assert (row.trace_id, row.correlation_id, row.created_at) == ("t", "c", now)
    assert row.expires_at == now + timedelta(seconds=12.5)
    assert jobs.get(job_id).state == "running"
    assert_whole(db)


def test_priority_then_first_in_first_out_across_kinds(jobs: Session) -> None:
    made = [
        (priority, n, jobs.enqueue(f"kind{n % 3}", priority=priority))
        for n, priority in enumerate([0, 5, -5, 0, 5, 32767, -32768, 0, 5, 0])
    ]
    expected = [job_id for _, _, job_id in sorted(made, key=lambda job: (-job[0], job[1]))]
    got: list[UUID] = []
    for size in (1, 4, 3, 10):
        got += ids(jobs.claim(size))
    assert got == expected


def test_a_released_job_goes_to_the_back_of_its_lane(jobs: Session) -> None:
    first, second = jobs.enqueue(), jobs.enqueue()
    jobs.release(jobs.claim_one())
    assert ids(jobs.claim(2)) == [second, first]


def test_jobs_that_fell_due_line_up_in_the_order_of_their_time(jobs: Session, clock: Clock) -> None:
    now = clock.freeze()
    late = jobs.enqueue(run_at=now + timedelta(seconds=20))
    early = jobs.enqueue(run_at=now + timedelta(seconds=10))
    urgent = jobs.enqueue(run_at=now + timedelta(seconds=30), priority=1)
    not_yet = jobs.enqueue(run_at=now + timedelta(seconds=31), priority=1)
    clock.freeze(now + timedelta(seconds=30))
    assert ids(jobs.claim(5)) == [urgent, early, late]
    clock.freeze(now + timedelta(seconds=31))
    assert ids(jobs.claim(5)) == [not_yet]


def test_only_the_asked_queues_and_kinds(jobs: Session) -> None:
    made = {(q, k): jobs.enqueue(k, queue=q) for q in ("a", "b", "c") for k in ("x", "y", "z")}
    assert jobs.claim(10, queues=[]) == []
    assert jobs.claim(10, queues=["a"], kinds=[]) == []
    assert jobs.claim(10, queues=["unheard-of"]) == []
    assert jobs.claim(10, queues=["a"], kinds=["X", "mail"]) == []
    assert ids(jobs.claim(10, queues=["b"], kinds=["x", "z"])) == [made["b", "x"], made["b", "z"]]
    assert set(ids(jobs.claim(10, queues=["a", "b"]))) == {
        *(made["a", kind] for kind in "xyz"),
        made["b", "y"],
    }
    assert set(ids(jobs.claim(10, queues=["c", "c"]))) == {made["c", kind] for kind in "xyz"}


def test_the_limit_holds(db: Database, jobs: Session) -> None:
    jobs.enqueue_many([{"kind": f"k{n % 7}", "payload": n, "priority": n % 3} for n in range(60)])
    sizes = [len(jobs.claim(size)) for size in (1, 7, 50, 50)]
    assert sizes == [1, 7, 50, 2]
    assert_whole(db)


def test_one_token_per_lane_and_claim(db: Database, jobs: Session) -> None:
    for kind in ("a", "b", "a", "b"):
        jobs.enqueue(kind)
    first = {(row.kind, row.token) for row in jobs.claim(3)}
    second = {(row.kind, row.token) for row in jobs.claim(3)}
    assert len(first) == 2
    assert len(second) == 1
    assert not {token for _, token in first} & {token for _, token in second}


def test_the_version_rises_with_each_claim(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue(max_attempts=2)
    for version in range(1, 6):
        row = jobs.claim_one()
        assert (row.job_id, row.version, row.counted) == (job_id, version, 0)
        jobs.release(row)
    row = jobs.claim_one()
    jobs.fail(row, delays=[0])
    row = jobs.claim_one()
    assert (row.version, row.counted) == (7, 1)
    assert_whole(db)


SCOPES: list[dict[str, Any]] = [
    {},
    {"tenant_id": "tenant"},
    {"queue": "a"},
    {"kind": "x"},
    {"node": str(NODE)},
    {"node": "node-1"},
    {"tenant_id": "tenant", "queue": "a", "kind": "x", "node": "node-1"},
]
NEIGHBOURS: list[dict[str, Any]] = [
    {"tenant_id": OTHER_TENANT},
    {"queue": "b"},
    {"kind": "y"},
    {"node": str(uuid4())},
    {"node": "node-2"},
    {"tenant_id": "tenant", "queue": "b"},
    {"queue": "a", "kind": "y"},
    {"tenant_id": OTHER_TENANT, "queue": "a", "kind": "x", "node": "node-1"},
]


def test_a_gate_holds_what_it_names_and_nothing_else(
    db: Database, jobs: Session, other: Session, clock: Clock, subtests: pytest.Subtests
) -> None:
    db.execute(
        "insert into windlass_data.node values (%s, 'node-1', 'h', 1, 'v', '{}', '{}', 1, now(), now())",
        NODE,
        role="superuser",
    )
    for closed, scopes in ((True, SCOPES), (False, NEIGHBOURS)):
        for scope in scopes:
            with subtests.test(closed=closed, scope=scope):
                named = {k: jobs.tenant if v == "tenant" else v for k, v in scope.items()}
                job_id = jobs.enqueue("x", queue="a")
                set_gate(db, **named, expires_at=clock.now() + timedelta(minutes=1))
                held = jobs.claim(5, queues=["a"])
                assert ids(held) == ([] if closed else [job_id])
                clock.advance(61)
                if closed:
                    held = jobs.claim(5, queues=["a"])
                    assert ids(held) == [job_id], "an expired gate holds nothing"
                jobs.complete(*held)
                db.execute("delete from windlass_data.gate", role="superuser")


def test_a_gate_without_expiry_holds_until_it_is_gone(db: Database, jobs: Session, clock: Clock) -> None:
    job_id = jobs.enqueue()
    set_gate(db)
    clock.advance(timedelta(days=1000))
    assert jobs.claim() == []
    assert jobs.state(job_id) == "queued"
    db.execute("delete from windlass_data.gate", role="superuser")
    assert jobs.claim_one().job_id == job_id


def test_expired_leases_are_recovered_by_a_claim_that_finds_nothing_else(
    db: Database, jobs: Session, clock: Clock
) -> None:
    job_id = jobs.enqueue()
    jobs.claim_one(lease=10)
    clock.advance(11)
    again = jobs.claim_one()
    assert (again.job_id, again.version, again.counted) == (job_id, 2, 1)
    assert_whole(db)


def test_bad_input_is_refused(db: Database, jobs: Session, subtests: pytest.Subtests) -> None:
    jobs.enqueue()
    wrongs: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": -1},
        {"limit": None},
        {"limit": 10001},
        {"queues": None},
        {"queues": ["default", None], "wait": True},
        {"lease": 0},
        {"lease": 0.09},
        {"lease": 86401},
        {"lease": None},
        {"lease": float("nan")},
        {"lease": float("inf")},
        {"lease": -1e300},
    ]
    for wrong in wrongs:
        with subtests.test(wrong=wrong), nothing_changed(db), refused("WL007"):
            jobs.claim(**wrong)
    with nothing_changed(db), refused("WL007"):
        Session(jobs.conn, node=None).claim()  # type: ignore[arg-type]


@pytest.mark.parametrize("only", [True, False])
@pytest.mark.parametrize("gated", [True, False])
def test_a_lane_that_is_named_twice_gives_no_job_twice(
    db: Database, jobs: Session, only: bool, gated: bool
) -> None:
    jobs.enqueue()
    if gated:
        db.execute("select windlass.set_gate(p_queue => 'elsewhere')", role="app")
    lane = db.fetch_value("select lane_id from windlass_data.ready", role="superuser")
    query = "select job_id from windlass.claim_jobs(%s, '{default}', null, 9, 30, false, %s, '{0,0}', %s)"
    if only or gated:
        with nothing_changed(db), refused("WL007", "names each lane once"):
            jobs.call(query, jobs.node, [lane, lane], only)
    else:  # nobody asked which lane it is, since there is one
        assert len(jobs.call(query, jobs.node, [lane, lane], only)) == 1


def test_a_rolled_back_claim_leaves_the_job_where_it_was(db: Database, jobs: Session) -> None:
    first, second = jobs.enqueue(), jobs.enqueue()
    with nothing_changed(db), jobs.conn.transaction(force_rollback=True):
        assert ids(jobs.claim(2)) == [first, second]
    assert [(row.job_id, row.version) for row in jobs.claim(2)] == [(first, 1), (second, 1)]


def test_a_node_with_room_is_told_of_work_and_one_that_found_plenty_is_not(
    db: Database, jobs: Session
) -> None:
    listener = db.connect()
    listener.execute("listen windlass")

    def notices() -> list[str]:
        return [notice.payload for notice in listener.notifies(timeout=0.2, stop_after=1)]

    jobs.enqueue()
    assert notices() == [], "nobody waits, so no notice is sent"
    assert len(jobs.claim(2, wait=True)) == 1
    jobs.enqueue()
    assert notices() == [str(jobs.node)], "it has room for one more"
    assert len(jobs.claim(1, wait=True)) == 1
    jobs.enqueue()
    assert notices() == [], "it has no room, and looks again by itself"
    assert len(jobs.claim(2, wait=True)) == 1
    assert jobs.claim(2, wait=True) == []
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(5)])
    assert notices() == [str(jobs.node)], "the notice names the node, and no queue to whoever listens"
    assert len(jobs.claim(3, wait=True)) == 3
    jobs.enqueue()
    assert notices() == []
    jobs.enqueue_many([{"kind": "mail", "payload": n} for n in range(20)])
    assert len(jobs.claim(100, wait=True)) == 23, "so much comes that it will look again soon enough"
    jobs.enqueue()
    assert notices() == []


def test_a_claim_may_leave_its_wish_for_notices_as_it_is(db: Database, jobs: Session) -> None:
    """And does not look at it either."""
    query = "select job_id from windlass.claim_jobs(%s, '{default}', null, 1, 30, %s)"

    def wishes() -> list[tuple[str]]:
        return db.fetch("select xmin::text from windlass_data.waiting", role="superuser")

    assert jobs.call(query, jobs.node, None) == []
    assert wishes() == []
    assert jobs.call(query, jobs.node, True) == []
    said = wishes()
    assert len(said) == 1
    for _ in range(2):
        jobs.enqueue()
        assert len(jobs.call(query, jobs.node, None)) == 1
        assert jobs.call(query, jobs.node, None) == []
    assert wishes() == said
    jobs.enqueue()
    assert len(jobs.call(query, jobs.node, True)) == 1
    assert wishes() == []


HEARTBEAT = "select windlass.heartbeat_node(%s, 'mill', p_queues => '{default}', p_kinds => array[%s])"


@pytest.fixture
def heard(db: Database, jobs: Session) -> Callable[[], list[str]]:
    """One node that knows `mail` waits among twenty that do not; who is told of work."""
    for _ in range(20):
        stranger = Session(db.connection(), node=uuid4())
        stranger.call(HEARTBEAT, stranger.node, "other")
        assert stranger.claim(2, kinds=["other"], wait=True) == []
    jobs.call(HEARTBEAT, jobs.node, "mail")
    assert jobs.claim(2, kinds=["none"], wait=True) == []
    listener = db.connect()
    listener.execute("listen windlass")
    return lambda: [notice.payload for notice in listener.notifies(timeout=0.2)]


def test_nodes_that_could_not_run_a_job_are_not_told_of_it(
    jobs: Session, heard: Callable[[], list[str]]
) -> None:
    jobs.enqueue()
    assert heard() == [str(jobs.node)]
    jobs.enqueue_many([{"kind": "mail"}] * 3)
    assert heard() == [str(jobs.node)]
    jobs.enqueue(key="k")
    assert heard() == [str(jobs.node)]
    jobs.call("select windlass.heartbeat_node(%s, 'mill')", jobs.node)  # it does not say what it knows
    jobs.enqueue()
    assert heard() == [str(jobs.node)]


def test_nor_of_one_that_comes_back(db: Database, jobs: Session, heard: Callable[[], list[str]]) -> None:
    def wait() -> None:
        assert jobs.claim(2, kinds=["none"], wait=True) == []
        heard()

    job_id = jobs.enqueue(max_attempts=1)
    held = jobs.claim_one()
    wait()
    jobs.release(held)
    assert heard() == [str(jobs.node)]
    jobs.fail(jobs.claim_one())
    wait()
    jobs.call("select windlass.redrive_jobs(%s, array[%s])", jobs.tenant, job_id)
    assert heard() == [str(jobs.node)]
    jobs.call("select windlass.reschedule_job(%s, %s, null, 5)", jobs.tenant, job_id)
    assert heard() == [str(jobs.node)]


def test_eight_sessions_never_get_one_job_twice(db: Database, jobs: Session) -> None:
    for start in range(0, 2000, 500):
        jobs.enqueue_many(
            [{"kind": f"k{n % 4}", "payload": n, "priority": n % 2} for n in range(start, start + 500)]
        )
    got: list[list[Any]] = [[] for _ in range(8)]
    gate = threading.Barrier(8)

    def work(place: int) -> None:
        session = Session(db.connect(), node=uuid4())
        gate.wait()
        limit = 5 + 3 * place
        deadline = 3
        while deadline:
            rows = session.claim(limit)
            assert len(rows) <= limit
            got[place] += rows
            deadline = 3 if rows else deadline - 1

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [row.job_id for rows in got for row in rows]
    assert len(everything) == len(set(everything)) == 2000
    assert all(row.version == 1 for rows in got for row in rows)
    assert_whole(db)
