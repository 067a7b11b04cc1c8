"""prune_jobs beside everybody else: whoever is under way while a day goes, no job is lost or overlooked."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from tests.sql.days import Past, make_id, prune
from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

Deed = Callable[[Session, UUID, Any], Any]


@pytest.fixture
def past(db: Database, clock: Clock, jobs: Session) -> Past:
    return Past(db, clock, jobs)


@contextmanager
def waiting(db: Database, session: Session, deed: Callable[[], Any]) -> Iterator[Future[Any]]:
    """Start a deed on its own connection and go on once the server says that it waits for a lock."""
    pid = session.conn.info.backend_pid
    query = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(deed)
        deadline = time.monotonic() + 30
        while not db.fetch_value(query, pid, role="superuser"):
            assert not future.done(), f"it did not wait: {future.result()}"
            assert time.monotonic() < deadline
        yield future
        future.result(30)


def patient(db: Database) -> None:
    """Let a prune wait for its locks as long as the test needs it to."""
    db.execute("alter function windlass._drop_day set lock_timeout = '30s'", role="owner")


def redrive(jobs: Session, job_id: UUID) -> Any:
    query = "select job_id from windlass.redrive_jobs(%s, %s)"
    return [row.job_id for row in jobs.call(query, jobs.tenant, [job_id])]


def read(jobs: Session, function: str, *arguments: UUID) -> int:
    """How many rows it shows."""
    places = ", ".join("%s" for _ in (jobs.tenant, *arguments))
    return len(jobs.call(f"select * from windlass.{function}({places})", jobs.tenant, *arguments))


def waits(past: Past) -> tuple[UUID, Any]:
    return past.enqueue(40, key="k", kind="mail"), None


def runs(past: Past) -> tuple[UUID, Any]:
    job_id = past.enqueue(40)
    return job_id, past.claim(job_id)


def ran_out(past: Past) -> tuple[UUID, Any]:
    job_id = past.enqueue(40)
    with past.at(40):
        return job_id, past.claim(job_id, lease=1)


def died(past: Past) -> tuple[UUID, Any]:
    return past.end(40, "dead", finished=10), None


# What may be done to a job that outlives its day: where the job stands, the deed, and the answer to it.
DEEDS: dict[str, tuple[Callable[[Past], tuple[UUID, Any]], Deed, Deed]] = {
    "claim": (waits, lambda s, j, h: [r.job_id for r in s.claim(5)], lambda s, j, h: [j]),
    "cancel": (waits, lambda s, j, h: s.cancel(j), lambda s, j, h: "canceled"),
    "reschedule": (
        waits,
        lambda s, j, h: s.value("select windlass.reschedule_job(%s, %s) is not null", s.tenant, j),
        lambda s, j, h: True,
    ),
    "enqueue again": (
        waits,
        lambda s, j, h: tuple(s.enqueue_row("mail", key="k")),
        lambda s, j, h: (j, False),
    ),
    "complete": (runs, lambda s, j, h: s.complete(h), lambda s, j, h: []),
    "finish": (runs, lambda s, j, h: s.finish(h), lambda s, j, h: None),
    "fail": (runs, lambda s, j, h: [r.state for r in s.fail(h)], lambda s, j, h: ["queued"]),
    "release": (runs, lambda s, j, h: [r.state for r in s.release(h)], lambda s, j, h: ["queued"]),
    "stop": (runs, lambda s, j, h: s.cancel(j), lambda s, j, h: "running"),
    "expire": (ran_out, lambda s, j, h: s.expire(), lambda s, j, h: [(j, "queued")]),
    "redrive": (died, lambda s, j, h: redrive(s, j), lambda s, j, h: [j]),
    "get": (waits, lambda s, j, h: s.state(j), lambda s, j, h: "queued"),
    "list": (waits, lambda s, j, h: read(s, "list_jobs") >= 1, lambda s, j, h: True),
    "attempts": (died, lambda s, j, h: read(s, "list_attempts", j), lambda s, j, h: 1),
    "history": (died, lambda s, j, h: read(s, "list_history", j) > 1, lambda s, j, h: True),
}
READS = ("get", "list", "attempts", "history")


@pytest.mark.parametrize("name", DEEDS)
def test_whoever_comes_while_a_day_goes_finds_the_job(db: Database, past: Past, name: str) -> None:
    come_while_a_day_goes(db, past, name, "commit")
    assert not past.has_tables(40)


@pytest.mark.parametrize("name", ["claim", "complete", "get"])
def test_whoever_comes_while_a_day_stays_after_all_finds_the_job(db: Database, past: Past, name: str) -> None:
    come_while_a_day_goes(db, past, name, "rollback")
    assert past.has_tables(40)


def come_while_a_day_goes(db: Database, past: Past, name: str, ending: str) -> None:
    stand, deed, answer = DEEDS[name]
    past.make(40)
    past.end(40)
    job_id, held = stand(past)
    session = Session(db.connect())
    pruner = db.connect(autocommit=False)
    assert prune(pruner).dropped == [past.day(40)]
    with waiting(db, session, lambda: deed(session, job_id, held)) as done:
        pruner.execute(ending.encode())
    assert done.result() == answer(session, job_id, held)
    assert job_id in past.listed()
    assert_whole(db, exact_leases=False)


@pytest.mark.parametrize("name", DEEDS)
def test_a_day_does_not_go_while_somebody_is_under_way(db: Database, past: Past, name: str) -> None:
    stand, deed, answer = DEEDS[name]
    past.make(40)
    past.end(40)
    job_id, held = stand(past)
    session = Session(db.connect(autocommit=False))
    assert deed(session, job_id, held) == answer(session, job_id, held)
    row = past.prune(succeeded=38)
    assert (row.dropped, row.busy, row.more) == ([], [past.day(40)], False)
    session.conn.commit()
    assert past.prune(succeeded=38).dropped == [past.day(40)]
    assert job_id in past.listed()
    assert_whole(db, exact_leases=False)


@pytest.mark.parametrize("name", [name for name in DEEDS if name not in READS])
def test_what_was_done_while_a_prune_waited_counts(db: Database, past: Past, name: str) -> None:
    """The first look of the prune found the job elsewhere, or did not have to keep it."""
    stand, deed, answer = DEEDS[name]
    patient(db)
    past.make(40)
    past.end(40)
    job_id, held = (past.end(40, "dead"), None) if name == "redrive" else stand(past)
    session = Session(db.connect(autocommit=False))
    assert deed(session, job_id, held) == answer(session, job_id, held)
    pruner = Session(db.connect())
    with waiting(db, pruner, lambda: prune(pruner.conn)) as done:
        session.conn.commit()
    assert done.result().dropped == [past.day(40)]
    assert job_id in past.listed()
    assert_whole(db, exact_leases=False)


def test_a_job_put_into_an_old_day_while_a_prune_waited_is_kept(db: Database, past: Past) -> None:
    patient(db)
    past.make(40)
    past.end(40)
    producer = Session(db.connect(autocommit=False))
    job_id = producer.enqueue(id=make_id(past.noon(40)))
    pruner = Session(db.connect())
    with waiting(db, pruner, lambda: prune(pruner.conn)):
        producer.conn.commit()
    assert past.jobs.claim_one().job_id == job_id
    assert_whole(db)


def test_a_lock_that_is_not_free_is_asked_for_again_later(db: Database, past: Past) -> None:
    past.make(40)
    past.end(40)
    reader = db.connect("superuser", autocommit=False)
    reader.execute("select count(*) from windlass_data.job")
    with nothing_changed(db):
        for _ in range(2):
            assert tuple(past.prune(succeeded=38)) == ([], [past.day(40)], 0, False)
    reader.commit()
    assert past.prune(succeeded=38).dropped == [past.day(40)]


def test_a_day_that_is_busy_for_too_long_is_emptied(db: Database, past: Past) -> None:
    """Were there always a long transaction, nothing would ever go."""
    past.make(40)
    past.end(40)
    waiting = past.enqueue(40)
    reader = db.connect("superuser", autocommit=False)
    reader.execute("select count(*) from windlass_data.job")
    row = past.prune(succeeded=30)
    assert (row.dropped, row.busy, row.removed) == ([], [past.day(40)], 1)
    assert past.listed() == {waiting}
    reader.commit()
    assert past.prune(succeeded=30).dropped == [past.day(40)]
    assert_whole(db)


def test_of_two_prunes_at_once_the_second_does_nothing(db: Database, past: Past) -> None:
    past.make(40, 39)
    for age in (40, 39):
        past.end(age)
    pruner = db.connect(autocommit=False)
    assert prune(pruner).dropped == [past.day(40)]
    assert tuple(past.prune()) == ([], [], 0, False)
    pruner.commit()
    assert past.prune().dropped == [past.day(39)]
    assert_whole(db)


def test_a_job_that_is_being_revived_is_not_deleted(db: Database, past: Past) -> None:
    revived, gone = past.end(40, "dead"), past.end(40, "dead")
    operator = Session(db.connect(autocommit=False))
    assert redrive(operator, revived) == [revived]
    assert past.prune().removed == 1
    operator.conn.commit()
    assert past.listed() == {revived}
    assert past.prune().removed == 0
    assert past.claim(revived).version == 2
    assert gone not in past.listed()
    assert_whole(db)


def test_a_job_that_is_being_deleted_is_not_revived(db: Database, past: Past) -> None:
    job_id = past.end(40, "dead")
    pruner = db.connect(autocommit=False)
    assert prune(pruner).removed == 1
    operator = Session(db.connect())

    def try_it() -> None:
        with refused("WL001"):
            redrive(operator, job_id)

    with waiting(db, operator, try_it):
        pruner.commit()
    assert past.tables() == {}


def test_a_key_that_is_being_taken_over_is_not_waited_for(db: Database, past: Past) -> None:
    past.end(40, key="k", kind="mail")
    producer = Session(db.connect(autocommit=False))
    fresh = producer.enqueue("mail", key="k", scope="active")
    assert past.prune().removed == 1
    producer.conn.commit()
    assert past.listed() == {fresh}
    assert_whole(db)


@pytest.mark.timeout(90)
def test_days_go_while_workers_work(db: Database, past: Past) -> None:
    """Every job of ten old days is done by workers while the days go; each is done once, and none is lost."""
    ages = range(40, 50)
    past.make(*ages)
    made = {past.enqueue(age, kind="mail") for age in ages for _ in range(12)}
    for age in ages:
        past.end(age)
    done: list[UUID] = []
    stop = threading.Event()

    def work() -> None:
        session = Session(db.connect())
        while not stop.is_set():
            for place, held in enumerate(session.claim(3, kinds=["mail"])):
                if place == 2 and held.version == 1:
                    session.fail(held, delays=[0])
                elif session.complete(held) == []:
                    done.append(held.job_id)

    with ThreadPoolExecutor(3) as pool:
        workers = [pool.submit(work) for _ in range(3)]
        deadline = time.monotonic() + 60
        try:
            while len(done) < len(made) or any(past.has_tables(age) for age in ages):
                assert time.monotonic() < deadline, f"{len(done)} of {len(made)} done"
                past.prune()
        finally:
            stop.set()
        for worker in workers:
            worker.result(30)
    assert sorted(done) == sorted(made)
    assert past.listed(states=["succeeded"]) == made
    assert_whole(db)
