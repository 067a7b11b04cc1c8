"""Where a turn or a place is free again, only nodes are told that can run what may have waited for it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tests.sql.limits import limit
from tests.sql.operate import bind, call
from tests.sql.steps import OTHER_TENANT, Session
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

MAIL, REPORT, BOUND = (UUID(int=n) for n in (1, 2, 3))


def wait_for_work(db: Database) -> None:
    """Three nodes that find nothing: one fits, one knows another kind, one is bound to another tenant."""
    bind(db, "worker", OTHER_TENANT)
    for node, kind, role in ((MAIL, "mail", "app"), (REPORT, "report", "app"), (BOUND, "mail", "worker")):
        call(db, "heartbeat_node", role=role, node=node, name=kind, kinds=[kind], queues=["default"])
        assert Session(db.connection(role), node=node).claim(1, kinds=[kind], wait=True) == []


def told_by(db: Database, jobs: Session, held: Any) -> set[UUID]:
    """Whom the success of a job tells: there are two notices at most, as there is one job."""
    return told(db, lambda: jobs.complete(held))


def told(db: Database, act: Callable[[], Any]) -> set[UUID]:
    return {UUID(payload) for payload in heard_of(db, act)}


def heard_of(db: Database, act: Callable[[], Any]) -> list[str]:
    listener = db.connect()
    listener.execute("listen windlass")
    act()
    db.execute("select pg_notify('windlass', 'last')")
    heard: list[str] = []
    for notice in listener.notifies(timeout=10):
        if notice.payload == "last":
            return heard
        heard.append(notice.payload)
    raise AssertionError("the last notice never came")


@pytest.mark.usefixtures("other")
def test_the_next_at_a_key(db: Database, jobs: Session) -> None:
    for _ in range(2):
        jobs.enqueue("mail", concurrency_key="acme")
    held = jobs.claim_one()
    wait_for_work(db)
    assert told_by(db, jobs, held) == {MAIL}


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (("tenant", "kind"), {MAIL}),
        (("kind",), {MAIL, BOUND}),
        (("tenant",), {MAIL, REPORT}),
    ],
)
def test_a_place_under_a_limit(
    db: Database, jobs: Session, said: tuple[str, ...], expected: set[UUID]
) -> None:
    scope = {"tenant": jobs.tenant, "kind": "mail"}
    limit(jobs, **{name: scope[name] for name in said}, concurrency=1)
    for _ in range(2):
        jobs.enqueue("mail")
    held = jobs.claim_one()
    wait_for_work(db)
    assert told_by(db, jobs, held) == expected


@pytest.mark.usefixtures("other")
def test_a_limit_that_names_neither_narrows_nothing(db: Database, jobs: Session) -> None:
    limit(jobs, tenant=jobs.tenant, kind="mail", concurrency=5)
    limit(jobs, queue="default", concurrency=1)
    for _ in range(2):
        jobs.enqueue("mail")
    held = jobs.claim_one()
    wait_for_work(db)
    assert len(told_by(db, jobs, held)) == 2


@pytest.mark.parametrize("fields", [{}, {"key": "k", "max_attempts": 2}], ids=["plain", "with a key"])
def test_a_quiet_transaction_tells_nobody(db: Database, jobs: Session, fields: dict[str, Any]) -> None:
    """So that it can be prepared to be committed in two phases, which one with a notice cannot."""
    assert Session(db.connection(), node=MAIL).claim(1, kinds=["mail"], wait=True) == []

    def enqueue(quiet: str) -> None:
        with db.connection().transaction():
            db.execute(f"set local windlass.quiet = {quiet}")
            jobs.enqueue("mail", **fields)
            fields.clear()

    assert told(db, lambda: enqueue("on")) == set()
    assert told(db, lambda: enqueue("off")) == {MAIL}


def test_who_cancels_tells_the_node_that_runs_the_job_to_renew(db: Database, jobs: Session) -> None:
    """Once for each job, and nobody where it only waits.  The notice is no wake: it brings no work."""
    waiting, running = jobs.enqueue("report"), jobs.enqueue("mail")
    assert Session(db.connection(), node=MAIL).claim(1, kinds=["mail"]) != []
    assert heard_of(db, lambda: jobs.cancel(waiting)) == []
    assert heard_of(db, lambda: jobs.cancel(running)) == [f"renew {MAIL}"]
    assert heard_of(db, lambda: jobs.cancel(running)) == []


def test_a_quiet_cancel_tells_nobody(db: Database, jobs: Session) -> None:
    def cancel() -> None:
        with db.connection().transaction():
            db.execute("set local windlass.quiet = on")
            assert jobs.cancel(job_id) == "running"

    job_id = jobs.enqueue()
    held = jobs.claim_one()
    assert heard_of(db, cancel) == []
    assert jobs.renew(held.token) == [(held.token, job_id, "cancel_requested")]


LATER = "2100-01-01Z"


@pytest.mark.parametrize(
    "fields", [{"run_at": LATER}, {"run_at": LATER, "key": "k"}], ids=["plain", "with a key"]
)
def test_what_is_not_due_wakes_nobody(db: Database, jobs: Session, fields: dict[str, Any]) -> None:
    jobs.enqueue("mail", run_at=LATER)  # so that its lane is there
    assert Session(db.connection(), node=MAIL).claim(1, kinds=["mail"], wait=True) == []
    assert told(db, lambda: jobs.enqueue("mail", **fields)) == set()
    batch = [{"kind": "mail", "payload": {}, "run_at": LATER}] * 2
    assert told(db, lambda: jobs.enqueue_many(batch)) == set()
    assert told(db, lambda: jobs.enqueue_many([*batch, {"kind": "mail", "payload": {}}])) == {MAIL}


def test_a_duplicate_wakes_nobody_and_lists_no_lane(db: Database, jobs: Session) -> None:
    job_id = jobs.enqueue("mail", key="k")
    held = jobs.claim_one()
    jobs.complete(held)
    assert Session(db.connection(), node=MAIL).claim(1, kinds=["mail"], wait=True) == []
    db.execute("delete from windlass_data.busy_lane", role="superuser")  # as a retirement does

    def again() -> None:
        assert tuple(jobs.enqueue_row("mail", key="k")) == (job_id, False)

    with nothing_changed(db):
        assert told(db, again) == set()
