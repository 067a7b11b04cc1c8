"""bind_role and what it means: a role that can name one tenant, and only roles that can really be held."""

from collections.abc import Iterator

import pytest

from tests.sql.operate import events
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


@pytest.fixture
def strong_roles(db: Database) -> Iterator[None]:
    """Roles that no policy holds, and one that can become such a role."""
    db.execute("create role test_super superuser", role="superuser")
    db.execute("create role test_bypass bypassrls", role="superuser")
    db.execute("create role test_climber in role test_bypass", role="superuser")
    yield
    db.execute("drop role test_climber, test_bypass, test_super", role="superuser")


def test_a_bound_role_names_its_tenant_and_no_other(db: Database, jobs: Session, other: Session) -> None:
    db.execute("select windlass.bind_role('test_producer', %s)", OTHER_TENANT)
    bound = Session(db.connection("producer"), OTHER_TENANT)
    jobs.enqueue()  # so that there is such a lane of the other tenant
    for _ in ("a new lane", "a lane that is there"):
        assert bound.state(bound.enqueue()) == "queued"
    for tenant in (DEFAULT_TENANT, UNKNOWN):
        with refused("WL005", "bound to another tenant"):
            Session(db.connection("producer"), tenant).enqueue()


@pytest.fixture
def renamed(db: Database, other: Session) -> Iterator[Session]:
    """A login that was bound, and then called something else."""
    db.execute("create role test_web in role windlass_producer", role="superuser")
    db.execute("select windlass.bind_role('test_web', %s)", OTHER_TENANT)
    db.execute("alter role test_web rename to test_shop", role="superuser")
    session = db.connect("superuser")
    session.execute("set session authorization test_shop")
    yield Session(session, OTHER_TENANT)
    session.close()
    db.execute("drop role if exists test_web, test_shop", role="superuser")


def test_a_bound_role_that_was_renamed_stays_bound(db: Database, other: Session, renamed: Session) -> None:
    assert other.state(renamed.enqueue()) == "queued"
    with refused("WL005", "bound to another tenant"):
        Session(renamed.conn, DEFAULT_TENANT).enqueue()
    db.execute("select windlass.unbind_role('test_web')")
    Session(renamed.conn, DEFAULT_TENANT).enqueue()


def test_a_role_with_the_number_of_another_is_not_taken_for_it(db: Database, renamed: Session) -> None:
    """As after a restore, where the role of that name is there, and its number belongs to somebody."""
    db.execute("create role test_web", role="superuser")
    Session(renamed.conn, DEFAULT_TENANT).enqueue()
    db.execute("select windlass.bind_role('test_web', %s)", OTHER_TENANT)
    db.execute("alter role test_web rename to test_web2", role="superuser")
    Session(renamed.conn, DEFAULT_TENANT).enqueue()
    db.execute("alter role test_web2 rename to test_web", role="superuser")


def test_the_deed_is_recorded_once(db: Database) -> None:
    for _ in range(2):
        db.execute("select windlass.bind_role('test_reader', %s, 'their dashboard', 'ada')", DEFAULT_TENANT)
    assert events(db, DEFAULT_TENANT) == [("ada", "role.bind", None, "their dashboard")]
    assert events(db, DEFAULT_TENANT, "details") == [({"role": "test_reader"},)]


def test_a_role_bound_to_another_tenant_must_be_unbound_first(db: Database, other: Session) -> None:
    db.execute("select windlass.bind_role('test_reader', %s)", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL004", f"bound to tenant {DEFAULT_TENANT}"):
        db.execute("select windlass.bind_role('test_reader', %s)", OTHER_TENANT)


@pytest.mark.usefixtures("strong_roles")
@pytest.mark.parametrize(
    "role",
    [
        "test_super",
        "test_bypass",
        "test_climber",
        "windlass_superuser",
        "windlass_owner",
        "windlass_engine",
        "windlass_producer",
        "windlass_operator",
    ],
)
def test_a_role_that_cannot_be_held_is_refused(db: Database, role: str) -> None:
    with nothing_changed(db), refused("WL007", role):
        db.execute("select windlass.bind_role(%s, %s)", role, DEFAULT_TENANT)


def test_unknown_roles_and_tenants_are_not_found(db: Database) -> None:
    for role, tenant in (("nobody_at_all", DEFAULT_TENANT), (None, DEFAULT_TENANT), ("test_reader", UNKNOWN)):
        with nothing_changed(db), refused("WL001", "there is no"):
            db.execute("select windlass.bind_role(%s, %s)", role, tenant)


def test_nobody_binds_the_role_that_asks(db: Database) -> None:
    """What it belongs to either: it could not take that back."""
    db.execute("create role test_group in role windlass_operator", role="superuser")
    db.execute("grant test_group to test_operator", role="superuser")
    for role in ("test_operator", "test_group"):
        with nothing_changed(db), refused("WL007", f"role {role} is, or acts for, whoever asks"):
            db.execute("select windlass.bind_role(%s, %s)", role, DEFAULT_TENANT, role="operator")
    db.execute("drop role test_group", role="superuser")


def test_a_bound_operator_binds_nobody(db: Database) -> None:
    db.execute("select windlass.bind_role('test_operator', %s)", DEFAULT_TENANT)
    for role in ("test_reader", "test_operator"):
        with nothing_changed(db), refused("WL005"):
            db.execute("select windlass.bind_role(%s, %s)", role, DEFAULT_TENANT, role="operator")


def test_who_made_a_role_and_cannot_act_as_it_is_not_bound_with_it(db: Database) -> None:
    """From PostgreSQL 16 on a creator may hand a role on, and no more."""
    if db.fetch_value("select current_setting('server_version_num')::int", role="superuser") < 160000:
        return
    db.execute("create role test_maker createrole in role windlass_producer", role="superuser")
    session = db.connect("superuser")
    session.execute("set session authorization test_maker")
    session.execute("create role test_made")
    db.execute("grant windlass_producer to test_made", role="superuser")
    db.execute("select windlass.bind_role('test_made', %s)", DEFAULT_TENANT)
    bound = "select windlass_data.bound_tenant()"
    try:
        assert session.execute(bound).fetchone() == (None,)
        session.execute("grant test_made to test_maker with inherit true")
        assert session.execute(bound).fetchone() == (DEFAULT_TENANT,)
    finally:
        session.close()
        db.execute("drop role test_made, test_maker", role="superuser")
