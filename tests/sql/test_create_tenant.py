"""create_tenant: a tenant with a slug of its own, made once."""

import pytest

from tests.sql.operate import bind, call, call_value, events, waiting
from tests.sql.steps import DEFAULT_TENANT, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_a_tenant_is_made_and_can_work(db: Database) -> None:
    tenant = call_value(db, "create_tenant", slug="acme", name="Acme Ltd")
    assert db.fetch_value("select windlass.tenant_id('acme')") == tenant
    acme = Session(db.connection(), tenant)
    job_id = acme.enqueue()
    assert acme.claim_one().job_id == job_id
    row = next(row for row in call(db, "list_tenants") if row.id == tenant)
    assert (row.slug, row.name) == ("acme", "Acme Ltd")


def test_the_slug_serves_as_name_if_none_is_given(db: Database) -> None:
    call(db, "create_tenant", slug="acme")
    assert [row.name for row in call(db, "list_tenants") if row.slug == "acme"] == ["acme"]


def test_the_same_tenant_again_is_the_same(db: Database) -> None:
    tenant = call_value(db, "create_tenant", slug="acme", name="Acme Ltd")
    with nothing_changed(db):
        assert call_value(db, "create_tenant", slug="acme", name="Acme Ltd") == tenant
        assert call_value(db, "create_tenant", slug="acme") == tenant
        with refused("WL002", "'acme' belongs to the tenant 'Acme Ltd'"):
            call(db, "create_tenant", slug="acme", name="Acme Inc")


def test_the_deed_is_recorded_once(db: Database) -> None:
    made = [call_value(db, "create_tenant", slug="acme", reason="signed up", actor="ada") for _ in range(2)]
    assert events(db, made[0]) == [("ada", "tenant.create", None, "signed up")]


@pytest.mark.parametrize("slug", [None, "", "Acme", "-acme", "_acme", "a b", "ä", "a.b", "a\n", "a" * 101])
def test_a_bad_slug_is_refused(db: Database, slug: str | None) -> None:
    with nothing_changed(db), refused("WL007", "slug"):
        call(db, "create_tenant", slug=slug)


@pytest.mark.parametrize("slug", ["a", "7", "a-b_c-", "a" * 100])
def test_a_good_slug_is_taken(db: Database, slug: str) -> None:
    assert call_value(db, "create_tenant", slug=slug) is not None


@pytest.mark.parametrize("name", ["", "n" * 201])
def test_a_bad_name_is_refused(db: Database, name: str) -> None:
    with nothing_changed(db), refused("WL007", "name"):
        call(db, "create_tenant", slug="acme", name=name)


def test_two_at_once_make_one(db: Database) -> None:
    first, second = db.connect(autocommit=False), db.connect()
    ((tenant,),) = first.execute("select windlass.create_tenant('acme')").fetchall()
    with waiting(
        db, second, lambda: second.execute("select windlass.create_tenant('acme')").fetchall()
    ) as late:
        first.commit()
        assert [tuple(row) for row in late.result()] == [(tenant,)]


def test_a_bound_role_cannot(db: Database) -> None:
    bind(db, "operator", DEFAULT_TENANT)
    for slug in ("acme", "default"):
        with nothing_changed(db), refused("WL005"):
            call(db, "create_tenant", slug=slug, role="operator")
