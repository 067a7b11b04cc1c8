"""set_tenant: another weight, from the commit on, with who said so and why."""

import pytest

from tests.sql.operate import bind, call, callers, events
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def weights(db: Database) -> dict[str, int]:
    return {row.slug: row.weight for row in call(db, "list_tenants")}


@pytest.mark.usefixtures("other")
def test_a_weight_is_shown_and_written_down(db: Database) -> None:
    call(db, "set_tenant", tenant=DEFAULT_TENANT, weight=7, reason="paid for it", actor="ada")
    assert weights(db) == {"default": 7, "other": 1}
    assert events(db, DEFAULT_TENANT) == [("ada", "tenant.set", None, "paid for it")]
    assert events(db, DEFAULT_TENANT, "details") == [({"weight": 7, "weight_before": 1},)]
    assert events(db, OTHER_TENANT) == []


def test_the_same_weight_again_is_written_down_and_changes_no_tenant(db: Database) -> None:
    row = "select xmin::text, ctid::text from windlass_data.tenant"
    before = db.fetch(row, role="superuser")
    call(db, "set_tenant", tenant=DEFAULT_TENANT, weight=1)
    assert db.fetch(row, role="superuser") == before
    assert events(db, DEFAULT_TENANT, "details") == [({"weight": 1, "weight_before": 1},)]


@pytest.mark.parametrize("weight", [1, 1000])
def test_the_bounds_are_good(db: Database, weight: int) -> None:
    call(db, "set_tenant", tenant=DEFAULT_TENANT, weight=weight)
    assert weights(db) == {"default": weight}


@pytest.mark.parametrize("weight", [0, -1, 1001, None])
def test_a_weight_that_cannot_be(db: Database, weight: int | None) -> None:
    with nothing_changed(db), refused("WL007", "from 1 to 1000"):
        call(db, "set_tenant", tenant=DEFAULT_TENANT, weight=weight)


def test_the_weight_of_nobody(db: Database) -> None:
    for tenant in (UNKNOWN, None):
        with nothing_changed(db), refused("WL001", "no tenant"):
            call(db, "set_tenant", tenant=tenant, weight=2)


def test_operators_say_it_for_the_whole_installation(db: Database, jobs: Session) -> None:
    assert callers(db, "set_tenant", tenant=jobs.tenant, weight=2) == {"operator"}
    with nothing_changed(db), refused("WL007", "reason"):
        call(db, "set_tenant", tenant=jobs.tenant, weight=2, reason="x" * 2001)
    bind(db, "operator", jobs.tenant)
    with nothing_changed(db), refused("WL005"):
        call(db, "set_tenant", role="operator", tenant=jobs.tenant, weight=2)
