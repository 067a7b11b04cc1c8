"""seal_events and the seal at commit: every event gets a place, nobody waits, and no row is ever changed."""

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from tests.sql.audit import seal, verify
from tests.sql.operate import NIL, bind, call, events, kill
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version

GATE = "select windlass.set_gate(%s, %s, p_actor => 'ada')"


def places(db: Database, tenant: UUID = DEFAULT_TENANT) -> list[int]:
    query = "select place from windlass_data.seal where tenant_id = %s order by place"
    return [place for (place,) in db.fetch(query, tenant, role="superuser")]


def unsealed(db: Database, tenant: UUID = DEFAULT_TENANT) -> int:
    query = "select count(*) from windlass_data.unsealed where tenant_id = %s"
    return int(db.fetch_value(query, tenant, role="superuser"))


def sound(db: Database, tenant: UUID, sealed: int, left: int = 0) -> None:
    found = verify(db.connection(), tenant, limit=2)
    assert (found.fault, found.sealed, found.unsealed) == (None, sealed, left)


def impatient(db: Database, isolation: str = "read committed") -> Connection[Any]:
    """A session that is told at once when it would have to wait."""
    conn = db.connect(autocommit=False)
    conn.execute("set lock_timeout = '1ms'")
    conn.execute(f"set default_transaction_isolation = '{isolation}'".encode())
    conn.commit()
    return conn


def test_a_deed_is_sealed_when_its_commit_returns(db: Database) -> None:
    for name in ("a", "b", "c"):
        db.execute(GATE, DEFAULT_TENANT, name)
    assert (places(db), unsealed(db)) == ([1, 2, 3], 0)
    db.execute(GATE, None, "a")
    tenant = db.fetch_value("select windlass.create_tenant('acme')")
    for whose, sealed in ((DEFAULT_TENANT, 3), (NIL, 1), (tenant, 1)):
        sound(db, whose, sealed)


def test_two_transactions_of_one_tenant_never_wait_for_each_other(db: Database) -> None:
    first, second = impatient(db), impatient(db)
    for name in ("a", "b"):
        first.execute(GATE, (DEFAULT_TENANT, f"{name}1"))
        second.execute(GATE, (DEFAULT_TENANT, f"{name}2"))
    second.commit()
    first.commit()
    assert (places(db), unsealed(db)) == ([1, 2, 3, 4], 0)
    sound(db, DEFAULT_TENANT, 4)


def test_two_transactions_on_two_tenants_in_opposite_order(db: Database, other: Session) -> None:
    seal(db)
    first, second = impatient(db), impatient(db)
    first.execute(GATE, (DEFAULT_TENANT, "a"))
    second.execute(GATE, (OTHER_TENANT, "a"))
    first.execute(GATE, (OTHER_TENANT, "b"))
    second.execute(GATE, (DEFAULT_TENANT, "b"))
    first.commit()
    second.commit()
    seal(db)
    for tenant in (DEFAULT_TENANT, OTHER_TENANT):
        sound(db, tenant, 2)


def test_who_finds_the_chain_held_leaves_its_event_to_the_next(db: Database, jobs: Session) -> None:
    """As a prepared transaction holds it: neither people nor workers nor another tenant notice."""
    holder = db.connect("superuser", autocommit=False)
    holder.execute("select from windlass_data.chain where tenant_id = %s for update", [DEFAULT_TENANT])
    conn = impatient(db)
    conn.execute(GATE, (DEFAULT_TENANT, "a"))
    conn.execute(GATE, (None, "a"))
    conn.commit()
    kill(Session(db.connect()))
    assert seal(db) == 0
    assert (places(db), unsealed(db), places(db, NIL)) == ([], 2, [1])
    holder.commit()
    assert seal(db) == 2
    sound(db, DEFAULT_TENANT, 2)


def test_a_transaction_rolled_back_leaves_no_hole(db: Database) -> None:
    conn = db.connect(autocommit=False)
    conn.execute(GATE, (DEFAULT_TENANT, "a"))
    conn.execute("savepoint s")
    conn.execute(GATE, (DEFAULT_TENANT, "b"))
    conn.execute("rollback to s")
    conn.commit()
    conn.execute(GATE, (DEFAULT_TENANT, "c"))
    conn.execute("set constraints all immediate")
    conn.rollback()
    db.execute(GATE, DEFAULT_TENANT, "d")
    assert places(db) == [1, 2]
    sound(db, DEFAULT_TENANT, 2)


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_one_snapshot_for_a_whole_transaction_is_no_reason_to_fail(db: Database, isolation: str) -> None:
    conn = impatient(db, isolation)
    conn.execute(GATE, (DEFAULT_TENANT, "a"))
    db.execute(GATE, DEFAULT_TENANT, "b")
    assert conn.execute("select windlass.seal_events()").fetchall() == [(0,)]
    conn.commit()
    sound(db, DEFAULT_TENANT, 1, 1)
    assert seal(db) == 1
    sound(db, DEFAULT_TENANT, 2)


def test_what_workers_cause_is_sealed_in_bulk(
    db: Database, jobs: Session, other: Session, clock: Clock
) -> None:
    dead = sorted(kill(jobs) for _ in range(3))
    kill(other)
    jobs.enqueue(max_attempts=1)
    jobs.claim_one(lease=1)
    clock.advance(2)
    jobs.expire()
    sound(db, DEFAULT_TENANT, 0, 4)
    call(db, "redrive_jobs", tenant=DEFAULT_TENANT, jobs=dead)
    sound(db, DEFAULT_TENANT, 7)
    assert [seal(db), seal(db)] == [1, 0], "an operator's commit seals what it finds of its tenant"
    assert {action for (action,) in events(db, OTHER_TENANT, "action")} == {"job.dead"}
    sound(db, OTHER_TENANT, 1)


def test_a_call_is_bounded_and_the_next_goes_on(db: Database, jobs: Session, other: Session) -> None:
    for _ in range(3):
        kill(jobs)
        kill(other)
    sizes = [call(db, "seal_events", limit=4)[0].seal_events for _ in range(3)]
    assert sizes == [4, 2, 0]
    for tenant in (DEFAULT_TENANT, OTHER_TENANT):
        sound(db, tenant, 3)
    for limit in (0, 100_001, None):
        with refused("WL007"):
            call(db, "seal_events", limit=limit)


def test_a_bound_role_seals_its_own_tenants(db: Database, jobs: Session, other: Session) -> None:
    kill(jobs)
    kill(other)
    bind(db, "worker", OTHER_TENANT)
    assert call(db, "seal_events", role="worker")[0].seal_events == 2
    assert (unsealed(db), unsealed(db, OTHER_TENANT)) == (1, 0)


def test_a_chain_whose_end_was_taken_away_is_not_begun_anew(db: Database) -> None:
    db.execute(GATE, DEFAULT_TENANT, "a")
    db.execute("delete from windlass_data.chain where tenant_id = %s", DEFAULT_TENANT, role="superuser")
    db.execute(GATE, DEFAULT_TENANT, "b")
    assert seal(db) == 0
    assert verify(db.connection()).fault == "head_removed"


CHANGES = ("update {} set tenant_id = tenant_id", "delete from {}", "truncate {}")


@pytest.mark.parametrize(("role", "code"), [("owner", "42501"), ("engine", "42501"), ("superuser", "WL005")])
def test_nobody_changes_what_was_written(db: Database, role: str, code: str) -> None:
    db.execute(GATE, DEFAULT_TENANT, "a")
    conn = db.connect("superuser" if role == "engine" else role)
    if role == "engine":
        conn.execute("set role windlass_engine")
    for table in ("windlass_data.event", "windlass_data.seal"):
        for change in CHANGES:
            with pytest.raises(psycopg.Error) as caught:
                conn.execute(change.format(table).encode())
            assert caught.value.sqlstate == code, (table, change)
