"""Idempotency keys: (tenant, kind, key) names one job, for ever or while it is not finished."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.sql.steps import Session, refused
from tests.sql.whole import assert_whole, nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def end(jobs: Session, how: str, **fields: Any) -> UUID:
    """Enqueue a job under the key and bring it to a terminal state."""
    job_id = jobs.enqueue(key="k", max_attempts=1, **fields)
    if how == "canceled":
        jobs.cancel(job_id)
    else:
        held = jobs.claim_one()
        if how == "dead":
            jobs.fail(held)
        else:
            jobs.complete(held, states=[how])
    assert jobs.state(job_id) == how
    return job_id


def test_a_duplicate_gets_the_existing_job_and_writes_nothing(db: Database, jobs: Session) -> None:
    first = jobs.enqueue_row(payload={"a": 1, "b": 2}, key="k")
    assert first.created
    with nothing_changed(db):
        again = jobs.enqueue_row(payload={"b": 2, "a": 1}, key="k")
    assert tuple(again) == (first.job_id, False)
    assert_whole(db)


@pytest.mark.parametrize("scope", ["forever", "active"])
def test_another_content_is_a_conflict(db: Database, jobs: Session, scope: str) -> None:
    jobs.enqueue(payload={"a": 1}, key="it's")
    with nothing_changed(db), refused("WL002", "the idempotency key 'it''s' is taken by job"):
        jobs.enqueue(payload={"a": 2}, key="it's", scope=scope)


def test_another_kind_or_tenant_is_another_key(db: Database, jobs: Session, other: Session) -> None:
    made = [jobs.enqueue_row(key="k"), jobs.enqueue_row("report", key="k"), other.enqueue_row(key="k")]
    assert [row.created for row in made] == [True, True, True]
    assert len({row.job_id for row in made}) == 3
    assert_whole(db)


@pytest.mark.parametrize("how", ["succeeded", "skipped", "dead", "canceled"])
def test_forever_outlasts_the_job_and_active_does_not(db: Database, jobs: Session, how: str) -> None:
    first = end(jobs, how)
    with nothing_changed(db):
        assert tuple(jobs.enqueue_row(key="k", max_attempts=1)) == (first, False)
    second = jobs.enqueue_row(key="k", scope="active", payload={"other": 1})
    assert second.created
    assert second.job_id != first
    with nothing_changed(db):
        again = jobs.enqueue_row(key="k", scope="active", payload={"other": 1})
    assert tuple(again) == (second.job_id, False)
    assert_whole(db)


def test_active_holds_while_the_job_waits_runs_or_retries(db: Database, jobs: Session, clock: Clock) -> None:
    def repeat() -> tuple[object, bool]:
        with nothing_changed(db):
            return tuple(jobs.enqueue_row(key="k", scope="active"))

    first = jobs.enqueue(key="k", scope="active", run_at=clock.now().replace(year=2040))
    assert repeat() == (first, False)
    jobs.cancel(first)
    second = jobs.enqueue(key="k", scope="active")
    assert second != first
    assert repeat() == (second, False)
    held = jobs.claim_one()
    assert repeat() == (second, False)
    jobs.fail(held, delays=[60])
    assert repeat() == (second, False)
    assert_whole(db)


def test_active_keys_twice_in_one_batch(db: Database, jobs: Session) -> None:
    first = end(jobs, "succeeded")
    batch = [{"kind": "mail", "payload": {}, "key": "k", "scope": "active"}] * 2
    one, two = jobs.enqueue_many(batch)
    assert (one.created, two.created) == (True, False)
    assert one.job_id == two.job_id != first
    assert_whole(db)


def test_a_repeat_with_the_same_id_finds_its_job_also_when_others_had_the_key(
    db: Database, jobs: Session
) -> None:
    mine, last = uuid4(), uuid4()
    end(jobs, "succeeded", id=mine, scope="active")
    end(jobs, "succeeded", id=last, scope="active")
    with nothing_changed(db):
        again = jobs.enqueue_row(key="k", max_attempts=1, id=mine, scope="active")
    assert tuple(again) == (mine, False)
    with nothing_changed(db), refused("WL002", "is taken by job"):
        jobs.enqueue_row(key="k", payload={"other": 1}, id=mine, scope="active")
    with nothing_changed(db), refused("WL002", "the id is taken by job"):
        jobs.enqueue_row(key="another", max_attempts=1, id=mine, scope="active")
    assert_whole(db)


@pytest.mark.parametrize("scope", ["forever", "active"])
@pytest.mark.parametrize("content", [{}, {"other": 1}])
def test_a_repeat_with_the_same_id_finds_its_job_also_while_another_has_the_key(
    db: Database, jobs: Session, scope: str, content: dict[str, int]
) -> None:
    mine = uuid4()
    jobs.enqueue(id=mine, key="k", scope=scope)
    jobs.cancel(mine)
    jobs.enqueue(key="k", payload=content, scope="active")
    with nothing_changed(db):
        assert tuple(jobs.enqueue_row(id=mine, key="k", scope=scope)) == (mine, False)


def test_a_repeat_with_the_same_id_is_the_same_job_also_after_its_end(db: Database, jobs: Session) -> None:
    """A caller whose commit went unanswered says the same again; the job may have run meanwhile."""
    mine = uuid4()
    end(jobs, "succeeded", id=mine, scope="active")
    with nothing_changed(db):
        again = jobs.enqueue_row(key="k", max_attempts=1, id=mine, scope="active")
    assert tuple(again) == (mine, False)


def test_an_id_under_another_key_is_a_conflict(db: Database, jobs: Session) -> None:
    mine = uuid4()
    jobs.enqueue(id=mine, key="one")
    with nothing_changed(db), refused("WL002", "the id is taken"):
        jobs.enqueue(id=mine, key="two")
    with nothing_changed(db), refused("WL002", "the id is taken"):
        jobs.enqueue(id=mine)
    jobs.cancel(mine)
    end(jobs, "succeeded")
    with nothing_changed(db), refused("WL002", "the id is taken"):
        jobs.enqueue(id=mine, key="k", scope="active")


def test_a_key_is_free_when_its_record_is_no_longer_kept(db: Database, jobs: Session) -> None:
    first = end(jobs, "succeeded")
    for table, column in (("attempt", "job_id"), ("job", "id")):
        db.execute(f"delete from windlass_data.{table} where {column} = %s", first, role="superuser")
    second = jobs.enqueue_row(key="k", payload={"other": 1})
    assert second.created
    assert_whole(db)


def test_a_key_has_up_to_500_characters_of_any_kind(jobs: Session) -> None:
    for key in ("é" * 500, " ", "'; drop table job --", "a\nb"):
        assert jobs.enqueue_row(key=key).created
        assert not jobs.enqueue_row(key=key).created


def test_a_rolled_back_key_was_never_taken(db: Database, jobs: Session) -> None:
    with jobs.conn.transaction(force_rollback=True):
        jobs.enqueue(key="k", payload=1)
    assert jobs.enqueue_row(key="k", payload=2).created
    assert_whole(db)
