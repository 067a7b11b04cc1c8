"""tenant_slug: the slug behind an id, to a bound role of its own tenant only."""

from uuid import UUID

import pytest

from tests.sql.operate import bind, call_value, callers
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = [pytest.mark.every_version, pytest.mark.usefixtures("other")]
NOBODY = UUID("00000000-0000-7000-8000-00000000dead")


def test_an_id_has_a_slug(db: Database) -> None:
    with nothing_changed(db):
        assert call_value(db, "tenant_slug", tenant=DEFAULT_TENANT) == "default"
        assert call_value(db, "tenant_slug", tenant=OTHER_TENANT) == "other"


@pytest.mark.parametrize("tenant", [NOBODY, None])
def test_what_is_no_tenant_is_nobody(db: Database, tenant: UUID | None) -> None:
    with refused("WL001", f"there is no tenant '{tenant or ''}'"):
        call_value(db, "tenant_slug", tenant=tenant)


def test_everybody_may_ask_and_a_bound_role_finds_its_own_only(db: Database) -> None:
    assert callers(db, "tenant_slug", tenant=DEFAULT_TENANT) == {"producer", "worker", "operator", "reader"}
    bind(db, "reader", DEFAULT_TENANT)
    assert call_value(db, "tenant_slug", role="reader", tenant=DEFAULT_TENANT) == "default"
    for foreign in (OTHER_TENANT, NOBODY):
        with refused("WL005", "this role is bound to another tenant"):
            call_value(db, "tenant_slug", role="reader", tenant=foreign)
