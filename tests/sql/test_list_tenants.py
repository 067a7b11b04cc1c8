"""list_tenants: who is here, and how much each has waiting and running."""

from datetime import timedelta

import pytest

from tests.sql.operate import bind, call
from tests.sql.steps import OTHER_TENANT, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_the_load_of_each_tenant(db: Database, jobs: Session, other: Session, clock: Clock) -> None:
    for kind in ("a", "b", "c"):
        jobs.enqueue(kind)
    jobs.enqueue(queue="slow", priority=3, run_at=clock.now() + timedelta(hours=1))
    other.enqueue()
    jobs.claim(2, kinds=["a", "b"])
    loads = {row.slug: (row.ready, row.scheduled, row.running) for row in call(db, "list_tenants")}
    assert loads == {"default": (1, 1, 2), "other": (1, 0, 0)}


def test_pages_by_slug(db: Database) -> None:
    for slug in ("c", "a", "b", "e"):
        call(db, "create_tenant", slug=slug)
    first = [row.slug for row in call(db, "list_tenants", limit=3)]
    second = [row.slug for row in call(db, "list_tenants", limit=3, after=first[-1])]
    assert (first, second) == (["a", "b", "c"], ["default", "e"])
    for limit in (0, 1001, None):
        with refused("WL007"):
            call(db, "list_tenants", limit=limit)


def test_a_bound_role_finds_its_own(db: Database, jobs: Session, other: Session) -> None:
    jobs.enqueue()
    bind(db, "reader", OTHER_TENANT)
    assert [(row.slug, row.ready) for row in call(db, "list_tenants", role="reader")] == [("other", 0)]
