"""By its own record no job starts before it was there, nor before its last attempt had ended."""

from typing import Any

import pytest

from tests.sql.steps import Session
from tests.sql.test_claim_by_name import claim, lanes
from tests.sql.two import Running
from tests.sql.whole import lapse
from tests.support import Database

pytestmark = pytest.mark.every_version

WAYS = ["one lane", "several lanes", "named lanes"]


def prepare(db: Database, jobs: Session, other: Session, way: str) -> None:
    """Lanes that had a job already, so that a claim looks at them; gone again."""
    jobs.enqueue()
    if way != "one lane":
        other.enqueue()
    assert jobs.complete(*jobs.claim(2)) == []


def take(db: Database, session: Session, way: str) -> list[Any]:
    return claim(session, lanes(db), 4) if way == "named lanes" else session.claim(4)


def started(session: Session, row: Any) -> Any:
    query = "select * from windlass.list_attempts(%s, %s)"
    return session.call(query, row.tenant_id, row.job_id)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_committed_while_a_claim_waits_starts_after_it_was_enqueued(
    db: Database, jobs: Session, other: Session, way: str
) -> None:
    prepare(db, jobs, other, way)
    holder = db.connect(role="superuser", autocommit=False)
    holder.execute("lock table windlass_data.ready in access exclusive mode")
    claiming = Running(db, jobs, lambda s: take(db, s, way))
    assert claiming.waits()
    holder.execute("select windlass.enqueue_job(%s, 'mail', '{}')", (jobs.tenant,))
    holder.commit()
    (row,) = claiming.result()
    (attempt,) = started(jobs, row)
    assert attempt.started_at >= row.created_at
    lease = db.fetch_value("select expires_at from windlass_data.lease", role="superuser")
    assert row.expires_at == lease


@pytest.mark.parametrize("way", WAYS[:2])
def test_what_a_claim_recovers_starts_after_it_ended(
    db: Database, jobs: Session, other: Session, way: str
) -> None:
    prepare(db, jobs, other, way)
    jobs.enqueue()
    jobs.claim(2)
    lapse(db)
    (row,) = take(db, jobs, way)
    first, second = started(jobs, row)
    assert (first.outcome, second.number) == ("crashed", 2)
    assert second.started_at >= first.finished_at
