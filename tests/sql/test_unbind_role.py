"""unbind_role: a role may name any tenant again."""

import pytest

from tests.sql.operate import bind, events
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def test_a_role_is_free_again(db: Database, other: Session) -> None:
    bind(db, "producer", OTHER_TENANT)
    mine = Session(db.connection("producer"), DEFAULT_TENANT)
    with refused("WL005"):
        mine.enqueue()
    query = "select windlass.unbind_role('test_producer', 'moved', 'ada')"
    assert db.fetch_value(query) == OTHER_TENANT
    assert mine.state(mine.enqueue()) == "queued"
    assert events(db, OTHER_TENANT)[-1] == ("ada", "role.unbind", None, "moved")


@pytest.mark.parametrize("role", ["test_producer", "nobody_at_all", None])
def test_a_role_that_is_not_bound_is_not_found(db: Database, role: str | None) -> None:
    with nothing_changed(db), refused("WL001", "bound to no tenant"):
        db.execute("select windlass.unbind_role(%s)", role)


def test_a_bound_role_cannot_free_itself(db: Database) -> None:
    bind(db, "operator", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        db.execute("select windlass.unbind_role('test_operator')", role="operator")
