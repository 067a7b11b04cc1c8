"""list_costs: sums by whatever is asked for, of one's own tenant or of all."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.ledger import entries, fold, sums
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

FIRST, SECOND = date(2030, 1, 1), date(2030, 1, 2)


@pytest.fixture
def spent(db: Database, jobs: Session, other: Session, clock: Clock) -> dict[UUID, UUID]:
    """Two tenants' costs of two days, half of them folded; a job of each."""
    ids: dict[UUID, UUID] = {}
    for day, factor in ((FIRST, 1), (SECOND, 10)):
        clock.freeze(datetime(day.year, day.month, day.day, 12, tzinfo=UTC))
        for session, cents in ((jobs, 1), (other, 100)):
            for queue, kind in (("default", "mail"), ("slow", "mail"), ("slow", "report")):
                ids[session.tenant] = session.enqueue(kind, queue=queue)
                held = next(row for row in session.claim(9, queues=[queue], kinds=[kind]))
                assert session.cost((held, cents * factor, f"{kind} of {session.tenant}")) == ["ok"]
                session.complete(held)
        if day == FIRST:
            fold(jobs)
    return ids


@pytest.mark.usefixtures("spent")
def test_by_whatever_is_asked_for(jobs: Session) -> None:
    both = 11 + 1100
    assert sums(jobs) == {(): 3 * both}
    assert sums(jobs, "tenant") == {"default": 33, "other": 3300}
    assert sums(jobs, "queue") == {"slow": 2 * both, "default": both}
    assert sums(jobs, "kind") == {"mail": 2 * both, "report": both}
    assert sums(jobs, "day") == {FIRST: 303, SECOND: 3030}
    assert sums(jobs, "kind", tenant=DEFAULT_TENANT) == {"mail": 22, "report": 11}
    assert sums(jobs, "kind", "day", tenant=DEFAULT_TENANT) == {
        ("mail", FIRST): 2,
        ("report", FIRST): 1,
        ("mail", SECOND): 20,
        ("report", SECOND): 10,
    }
    assert sums(jobs, "day", since=SECOND) == {SECOND: 3030}
    assert sums(jobs, "day", until=SECOND) == {FIRST: 303}
    assert sums(jobs, "day", since=SECOND + timedelta(1)) == {}
    assert sums(jobs, "tenant", queues=["slow"], kinds=["mail"]) == {"default": 11, "other": 1100}
    assert sums(jobs, tenant=UNKNOWN) == {}


@pytest.mark.usefixtures("spent")
def test_the_total_is_of_all_and_not_of_what_is_shown(jobs: Session) -> None:
    row, _ = jobs.call("select * from windlass.list_costs(p_by => '{tenant,kind,day}', p_limit => 2)")
    assert (row.total_cents, row.total_entries, row.total_rows) == (3333, 12, 8)
    assert (row.tenant_id, row.tenant, row.kind, row.day, row.cents, row.entries) == (
        OTHER_TENANT,
        "other",
        "mail",
        FIRST,
        200,
        2,
    )
    assert row.queue is None


@pytest.mark.parametrize(
    "given",
    [
        "p_by => '{state}'",
        "p_by => array[null]::text[]",
        "p_by => null",
        "p_since => '2030-01-02', p_until => '2030-01-02'",
        "p_since => '2030-01-03', p_until => '2030-01-02'",
        "p_limit => 0",
        "p_limit => 1001",
        "p_limit => null",
    ],
)
def test_nonsense_is_refused(jobs: Session, given: str) -> None:
    with refused("WL007"):
        jobs.call(f"select * from windlass.list_costs({given})")


def test_a_bound_role_sees_its_own_whatever_it_says(
    db: Database, jobs: Session, spent: dict[UUID, UUID]
) -> None:
    """The control comes first: unbound, the same login sees both, and so the attacks would show something."""
    theirs = spent[OTHER_TENANT]
    reader = Session(db.connection("reader"))
    asker = Session(db.connection("reader"), OTHER_TENANT)
    assert sums(reader, "tenant") == {"default": 33, "other": 3300}
    assert entries(asker, theirs) == [(1, 1000, f"report of {OTHER_TENANT}")]
    db.execute(
        "insert into windlass_data.role_tenant values ('test_reader', %s)", DEFAULT_TENANT, role="superuser"
    )
    settings: list[Any] = [None, "", "x", str(OTHER_TENANT), str(DEFAULT_TENANT)]
    for setting in settings:
        reader.call("select set_config('windlass.tenant_id', %s, false)", setting or "")
        assert sums(reader, "tenant") == {"default": 33}
        assert sums(reader, "kind", queues=["slow"]) == {"mail": 11, "report": 11}
        for attack in (lambda: sums(reader, tenant=OTHER_TENANT), lambda: entries(asker, theirs)):
            with refused("WL005"):
                attack()
        with refused("WL001"):
            entries(reader, theirs)
    for table in ("cost", "cost_day", "cost_delta", "dropped_day"):
        with refused("42501"):
            reader.call(f"select * from windlass_data.{table}")
    for call in ("record_costs('{}', '{}', '{}', '{}')", "fold_costs()"):
        with refused("42501"):
            reader.call(f"select windlass.{call}")
    assert entries(reader, spent[DEFAULT_TENANT]) == [(1, 10, f"report of {DEFAULT_TENANT}")]


def test_a_bound_worker_records_nothing_for_another_tenant(
    db: Database, jobs: Session, other: Session
) -> None:
    """Not even with the token; nor does the owner of the tables touch a tenant that it did not enter."""
    other.enqueue()
    held = other.claim_one()
    db.execute(
        "insert into windlass_data.role_tenant values ('test_worker', %s)", DEFAULT_TENANT, role="superuser"
    )
    assert Session(db.connection("worker")).cost((held, 3, "stamps")) == ["lease_lost"]
    assert sums(jobs) == {}
    assert other.cost((held, 3, "stamps")) == ["ok"]
    owner = db.connect("owner")
    for table in ("cost", "cost_delta"):
        assert owner.execute(f"delete from windlass_data.{table}".encode()).rowcount == 0
    assert sums(jobs) == {(): 3}
