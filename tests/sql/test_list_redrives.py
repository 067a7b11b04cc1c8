"""list_redrives: a tenant's redrives, newest first, a page at a time."""

from typing import Any

import pytest

from tests.sql.operate import bind, call, callers, ids, kill
from tests.sql.redrives import create
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session, refused
from tests.support import Database

pytestmark = pytest.mark.every_version


def listed(db: Database, **what: Any) -> list[Any]:
    return call(db, "list_redrives", **{"tenant": DEFAULT_TENANT, **what})


def test_the_newest_come_first_and_a_page_goes_on_behind_the_last(db: Database, jobs: Session) -> None:
    assert listed(db) == []
    kill(jobs)
    made = sorted((create(db, everything=True, reason=f"number {n}") for n in range(5)), reverse=True)
    assert ids(listed(db)) == made
    assert {row.reason for row in listed(db)} == {f"number {n}" for n in range(5)}
    first = ids(listed(db, limit=2))
    assert first == made[:2]
    assert ids(listed(db, limit=9, before=first[-1])) == made[2:]
    assert listed(db, before=made[-1]) == []


@pytest.mark.parametrize("limit", [0, -1, 1001, None])
def test_an_odd_page_is_refused(db: Database, limit: int | None) -> None:
    with refused("WL007", "a page has"):
        listed(db, limit=limit)


def test_a_tenants_own_and_nobody_elses(db: Database, jobs: Session, other: Session) -> None:
    kill(other)
    theirs = create(db, OTHER_TENANT, everything=True)
    assert listed(db) == []
    assert ids(listed(db, tenant=OTHER_TENANT)) == [theirs]
    with refused("WL005", "no tenant given"):
        listed(db, tenant=None)
    assert callers(db, "list_redrives", tenant=DEFAULT_TENANT) == {"operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    with refused("WL005", "another tenant"):
        call(db, "list_redrives", role="reader", tenant=OTHER_TENANT)
    assert call(db, "list_redrives", role="reader", tenant=DEFAULT_TENANT) == []
