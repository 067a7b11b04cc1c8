"""set_limit: what is said of a scope and what is left as it was, what makes no sense, and who may say it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.sql.limits import limit, use, wakes_who_waits
from tests.sql.operate import NIL, bind, call, callers, events
from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

NOON = datetime(2031, 5, 14, 12, 0, tzinfo=UTC)

BAD: list[dict[str, Any]] = [
    {},
    {"concurrency": -1},
    {"rate": 0},
    {"rate": 5, "rate_seconds": 0},
    {"rate": 5, "rate_seconds": float("nan")},
    {"rate": 5, "burst": 0},
    {"burst": 5},
    {"rate_seconds": 5},
    {"depth": -1},
    {"budget_cents": -1},
    {"budget_cents": 5, "budget_period": "fortnight"},
    {"budget_cents": 5, "warn_cents": 6},
    {"budget_period": "day"},
    {"queue": "no such name", "depth": 1},
    {"kind": "", "depth": 1},
    {"queue": "windlass.system", "concurrency": 1},
    {"concurrency": 1, "reason": "x" * 2001},
]


def test_what_makes_no_sense_is_refused_and_changes_nothing(db: Database, jobs: Session) -> None:
    with nothing_changed(db):
        for said in BAD:
            with refused("WL007"):
                call(db, "set_limit", **said)
        with refused("WL001", "there is no tenant"):
            limit(jobs, tenant=UNKNOWN, depth=1)


def test_what_is_not_said_stays_as_it_was(db: Database, jobs: Session, clock: Clock) -> None:
    clock.freeze(NOON)
    made = limit(jobs, queue="mail", rate=5, reason="slow relay", actor="ada")
    row = use(db, made)
    assert (row.tenant_id, row.queue, row.kind, row.changed_at) == (None, "mail", None, NOON)
    assert (row.rate, row.rate_seconds, row.burst, row.tokens) == (5, 1, 5, 5)
    assert (row.concurrency, row.depth, row.budget_period) == (None, None, None)
    assert limit(jobs, queue="mail", concurrency=3, warn_cents=10, actor="bob") == made
    row = use(db, made)
    assert (row.rate, row.concurrency, row.warn_cents, row.budget_period) == (5, 3, 10, "day")
    assert (row.reason, row.actor) == ("", "bob"), "of the last word"
    assert limit(jobs, queue="mail", kind="letter", depth=0) != made, "another scope is another limit"
    told = events(db, NIL, "actor", "action", "reason", "details")
    assert [fact[:3] for fact in told[:2]] == [("ada", "limit.set", "slow relay"), ("bob", "limit.set", None)]
    assert told[1][3]["before"] == told[0][3]["after"]


def test_a_limit_of_one_tenant_is_told_in_its_own_events(db: Database, jobs: Session, other: Session) -> None:
    limit(jobs, tenant=other.tenant, concurrency=1)
    assert [action for (action,) in events(db, other.tenant, "action")] == ["limit.set"]
    assert events(db, NIL) == events(db, jobs.tenant) == []


def test_whoever_waits_is_woken(db: Database, jobs: Session) -> None:
    assert wakes_who_waits(db, jobs, lambda: limit(jobs, queue="default", concurrency=1))


def test_operators_say_it_for_the_whole_installation(db: Database) -> None:
    assert callers(db, "set_limit", concurrency=1) == {"operator"}
    bind(db, "operator", DEFAULT_TENANT)
    for tenant in (None, DEFAULT_TENANT):
        with nothing_changed(db), refused("WL005"):
            call(db, "set_limit", role="operator", tenant=tenant, concurrency=1)
