"""list_gates: what holds now, and of whom."""

from datetime import timedelta

import pytest

from tests.sql.operate import bind, call, call_value
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def test_every_field_oldest_first(db: Database, clock: Clock) -> None:
    now = clock.freeze()
    until = now + timedelta(hours=1)
    first = call_value(
        db,
        "set_gate",
        tenant=DEFAULT_TENANT,
        queue="q",
        kind="k",
        node="n",
        reason="why",
        actor="ada",
        expires_at=until,
    )
    clock.advance(1)
    later = clock.freeze()
    second = call_value(db, "set_gate", everything=True)
    rows = call(db, "list_gates")
    assert tuple(rows[0]) == (first, DEFAULT_TENANT, "q", "k", "n", "why", "ada", now, until, False)
    assert tuple(rows[1]) == (second, None, None, None, None, "", "windlass_app", later, None, False)


def test_an_expired_gate_holds_no_longer(db: Database, clock: Clock) -> None:
    call(db, "set_gate", everything=True, expires_at=clock.now() + timedelta(minutes=1))
    assert len(call(db, "list_gates")) == 1
    clock.advance(timedelta(minutes=2))
    assert call(db, "list_gates") == []


def test_of_a_tenant_its_own_and_those_that_hold_everybody(db: Database, other: Session) -> None:
    mine, theirs, every = (
        call_value(db, "set_gate", **scope)
        for scope in ({"tenant": DEFAULT_TENANT}, {"tenant": OTHER_TENANT}, {"queue": "default"})
    )
    assert {row.id for row in call(db, "list_gates")} == {mine, theirs, every}
    assert {row.id for row in call(db, "list_gates", tenant=DEFAULT_TENANT)} == {mine, every}
    bind(db, "reader", OTHER_TENANT)
    assert {row.id for row in call(db, "list_gates", role="reader")} == {theirs, every}
    for tenant in (DEFAULT_TENANT, UNKNOWN):
        with refused("WL005"):
            call(db, "list_gates", tenant=tenant, role="reader")
