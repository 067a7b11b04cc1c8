"""clear_limit: a part of what was said, or all of it, in exactly one scope."""

from typing import Any

import pytest

from tests.sql.limits import limit, use, wakes_who_waits
from tests.sql.operate import NIL, bind, call, call_value, callers, events
from tests.sql.steps import DEFAULT_TENANT, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

FACTS = (
    "concurrency",
    "rate",
    "rate_seconds",
    "burst",
    "depth",
    "budget_cents",
    "warn_cents",
    "budget_period",
)


def facts(db: Database, limit_id: int) -> dict[str, Any]:
    row = use(db, limit_id)
    return {name: getattr(row, name) for name in FACTS if getattr(row, name) is not None}


def test_clearing_takes_back_a_part_or_all(db: Database, jobs: Session) -> None:
    made = limit(jobs, kind="mail", concurrency=3, rate=5, depth=9, budget_cents=10, warn_cents=5)
    assert call_value(db, "clear_limit", kind="mail", what=["rate", "budget"]) == made
    assert facts(db, made) == {"concurrency": 3, "depth": 9}
    assert call_value(db, "clear_limit", kind="mail", what=["depth"]) == made
    assert facts(db, made) == {"concurrency": 3}
    with nothing_changed(db), refused("WL001", "there is no such limit"):
        call(db, "clear_limit", kind="mail", what=["rate"])
    assert call_value(db, "clear_limit", kind="mail", reason="over", actor="ada") == made
    assert call(db, "list_limits") == []
    assert events(db, NIL)[-1] == ("ada", "limit.clear", None, "over")
    (details,) = events(db, NIL, "details")[-1]
    assert (details["limit"], details["before"]["concurrency"]) == (made, 3)
    with nothing_changed(db), refused("WL001", "there is no such limit"):
        call(db, "clear_limit", kind="mail")


def test_the_last_part_takes_the_limit_along_and_all_that_was_kept_for_it(
    db: Database, jobs: Session
) -> None:
    limit(jobs, tenant=jobs.tenant, budget_cents=100)
    jobs.enqueue()
    jobs.complete(jobs.claim_one(), costs=[70])
    call(db, "clear_limit", tenant=jobs.tenant, what=["budget"])
    for table in ("job_limit", "limit_use", "spending"):
        assert db.fetch(f"select 1 from windlass_data.{table}", role="superuser") == []


def test_no_other_scope_is_touched(db: Database, jobs: Session) -> None:
    made = [
        limit(jobs, tenant=jobs.tenant, queue="default", kind="mail", concurrency=1),
        limit(jobs, queue="default", kind="mail", concurrency=1),
        limit(jobs, queue="default", concurrency=1),
        limit(jobs, concurrency=1),
    ]
    assert call_value(db, "clear_limit", queue="default") == made[2]
    assert [row.id for row in call(db, "list_limits")] == [made[0], made[1], made[3]]
    assert call_value(db, "clear_limit") == made[3]
    with nothing_changed(db), refused("WL001"):
        call(db, "clear_limit", kind="mail")


def test_whoever_waits_is_woken(db: Database, jobs: Session) -> None:
    assert wakes_who_waits(db, jobs, lambda: call(db, "clear_limit", queue="default"))


def test_operators_clear_and_only_what_there_is(db: Database, jobs: Session) -> None:
    limit(jobs, tenant=jobs.tenant, concurrency=1)
    with nothing_changed(db):
        for what in (["colour"], ["rate", "colour"], []):
            with refused("WL007", "what is cleared is"):
                call(db, "clear_limit", tenant=jobs.tenant, what=what)
        with refused("WL007", "reason"):
            call(db, "clear_limit", tenant=jobs.tenant, reason="x" * 2001)
    assert callers(db, "clear_limit", tenant=jobs.tenant) == {"operator"}
    bind(db, "operator", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "clear_limit", role="operator", tenant=jobs.tenant)
