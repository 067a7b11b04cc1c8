"""tenant_id: the id behind a slug, to a bound role of its own tenant only."""

import pytest

from tests.sql.operate import bind, call_value, callers
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = [pytest.mark.every_version, pytest.mark.usefixtures("other")]


def test_a_slug_has_an_id(db: Database) -> None:
    with nothing_changed(db):
        assert call_value(db, "tenant_id", slug="default") == DEFAULT_TENANT
        assert call_value(db, "tenant_id", slug="other") == OTHER_TENANT


@pytest.mark.parametrize("slug", ["nobody", "Default", " default", "", str(DEFAULT_TENANT), None])
def test_what_is_no_slug_is_nobody(db: Database, slug: str | None) -> None:
    with refused("WL001", f"there is no tenant '{slug or ''}'"):
        call_value(db, "tenant_id", slug=slug)


def test_everybody_may_ask_and_a_bound_role_finds_its_own_only(db: Database) -> None:
    assert callers(db, "tenant_id", slug="default") == {"producer", "worker", "operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    assert call_value(db, "tenant_id", role="reader", slug="default") == DEFAULT_TENANT
    with refused("WL001", "there is no tenant 'other'"):
        call_value(db, "tenant_id", role="reader", slug="other")
