"""Producers that use one key, one id or one new lane at the same moment."""

import threading
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.sql.steps import Session
from tests.sql.two import ENDINGS, Ending, Two
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


@pytest.mark.parametrize("scope", ["forever", "active"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_one_key_two_producers(db: Database, jobs: Session, two: Two, ending: Ending, scope: str) -> None:
    jobs.enqueue()
    race = two.race(
        lambda s: s.enqueue_row(key="k", scope=scope),
        lambda s: s.enqueue_row(key="k", scope=scope),
        ending=ending,
    )
    assert race.waited
    assert race.first.created
    if ending == "commit":
        assert tuple(race.second) == (race.first.job_id, False)
    else:
        assert race.second.created, "the holder vanished, so the second is the first"
    assert len(jobs.claim(5)) == 2
    assert_whole(db)


def test_one_key_two_contents(db: Database, jobs: Session, two: Two) -> None:
    jobs.enqueue()
    race = two.race(lambda s: s.enqueue("mail", 1, key="q"), lambda s: s.enqueue("mail", 2, key="q"))
    assert race.second == "WL002"
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_one_id_two_producers(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    jobs.enqueue()
    mine = uuid4()
    race = two.race(lambda s: s.enqueue_row(id=mine), lambda s: s.enqueue_row(id=mine), ending=ending)
    assert race.waited
    assert tuple(race.second) == (mine, ending == "rollback")
    assert len(jobs.claim(5)) == 2
    assert_whole(db)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_finished_holder_is_succeeded_once(db: Database, jobs: Session, two: Two, ending: Ending) -> None:
    old = jobs.enqueue(key="k", scope="active")
    jobs.complete(jobs.claim_one())
    race = two.race(
        lambda s: s.enqueue_row(key="k", scope="active"),
        lambda s: s.enqueue_row(key="k", scope="active"),
        ending=ending,
    )
    assert race.waited
    assert race.first.created
    assert race.first.job_id != old
    if ending == "commit":
        assert tuple(race.second) == (race.first.job_id, False)
    else:
        assert race.second.created
    assert len(jobs.claim(5)) == 1
    assert_whole(db)


def test_a_new_lane_is_waited_for_by_nobody(db: Database, jobs: Session) -> None:
    """Two transactions that need the same one make two; the jobs of both stand in one line all the same."""
    first, second = (Session(db.connect(autocommit=False)) for _ in range(2))
    order = [first.enqueue("new", queue="new")]
    order += [second.enqueue("new", queue="new") for _ in range(2)]
    order += [first.enqueue("new", queue="new")]
    second.conn.commit()
    first.conn.commit()
    order += [jobs.enqueue("new", queue="new")]
    assert db.fetch_value("select count(*) from windlass_data.lane", role="superuser") == 2
    assert [row.job_id for row in jobs.claim(9, queues=["new"])] == order
    assert_whole(db)


def test_a_snapshot_from_before_the_holder_is_told_to_try_again(db: Database, jobs: Session) -> None:
    """Under repeatable read the holder cannot be seen, so no answer would be right."""
    jobs.enqueue()
    late = Session(db.connect(autocommit=False))
    late.call("set transaction isolation level repeatable read")
    late.call("select 1")
    jobs.enqueue(key="k")
    with nothing_changed(db), pytest.raises(psycopg.errors.SerializationFailure):
        late.enqueue(key="k")
    late.conn.rollback()


def run_together(work: list[Any]) -> list[BaseException]:
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(work))

    def run(step: Any) -> None:
        try:
            barrier.wait()
            step()
        except BaseException as error:  # the main thread reports it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_many_producers_on_few_keys_make_one_job_each(db: Database, jobs: Session) -> None:
    """Batches name the keys in different orders, and every tenth transaction is rolled back."""
    keys = [f"k{n}" for n in range(60)]

    def produce(place: int) -> None:
        session = Session(db.connect(autocommit=False))
        for turn in range(6):
            start = (place * 7 + turn * 11) % len(keys)
            batch = [*keys[start:], *keys[:start]][:: 1 if place % 2 else -1][:30]
            session.enqueue_many([{"kind": "mail", "payload": key, "key": key} for key in batch])
            if (place + turn) % 10 == 0:
                session.conn.rollback()
            else:
                session.conn.commit()

    errors = run_together([lambda place=place: produce(place) for place in range(8)])
    assert errors == []
    assert sorted(row.payload for row in jobs.claim(200)) == sorted(keys)
    assert_whole(db)


def test_batches_that_take_over_finished_keys_do_not_deadlock(db: Database, jobs: Session) -> None:
    keys = [f"k{n:02}" for n in range(20)]
    batch = [{"kind": "mail", "payload": {}, "key": key, "scope": "active"} for key in keys]
    for _ in range(4):
        jobs.enqueue_many(batch)
        jobs.complete(*jobs.claim(20))
        errors = run_together(
            [
                lambda order=order: Session(db.connect()).enqueue_many(order)
                for order in (batch, batch[::-1], batch[10:] + batch[:10], batch[::-1])
            ]
        )
        assert errors == []
        assert len(jobs.claim(200)) == 20
        assert_whole(db)
        jobs.expire()
        db.execute("update windlass_data.lease set expires_at = '2000-01-01'", role="superuser")
        jobs.expire()
        jobs.complete(*jobs.claim(200))
