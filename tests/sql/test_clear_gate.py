"""clear_gate: exactly one gate goes, by id or by scope, and those who wait for work hear of it."""

from typing import Any
from uuid import UUID

import pytest

from tests.sql.operate import NIL, bind, call, call_value, events
from tests.sql.steps import DEFAULT_TENANT, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version

SCOPES: list[dict[str, Any]] = [
    {},
    {"tenant": DEFAULT_TENANT},
    {"queue": "default"},
    {"tenant": DEFAULT_TENANT, "queue": "default"},
    {"kind": "mail"},
    {"node": "nightjar"},
]


def set_gate(db: Database, **scope: Any) -> UUID:
    gate = call_value(db, "set_gate", **scope, everything=not scope)
    assert isinstance(gate, UUID)
    return gate


@pytest.mark.parametrize("by_id", [True, False])
def test_one_gate_goes_and_the_others_stay(db: Database, by_id: bool) -> None:
    gates = {set_gate(db, **scope): scope for scope in SCOPES}
    for gate, scope in gates.items():
        cleared = call_value(db, "clear_gate", **({"gate": gate} if by_id else scope))
        assert cleared == gate
        left = {row.id for row in call(db, "list_gates")}
        assert gate not in left
        assert len(left) == len(SCOPES) - list(gates).index(gate) - 1


def test_jobs_are_claimed_again(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    set_gate(db)
    assert jobs.claim() == []
    call(db, "clear_gate")
    assert len(jobs.claim()) == 1


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        ({"queue": "a"}, True),
        ({}, True),
        ({"tenant": DEFAULT_TENANT}, True),
        ({"queue": "z"}, False),
    ],
)
def test_nodes_that_wait_are_woken(db: Database, jobs: Session, scope: dict[str, Any], told: bool) -> None:
    jobs.enqueue(queue="a")
    jobs.enqueue(queue="b")
    set_gate(db, **scope)
    jobs.claim(9, queues=["a", "b"])
    jobs.claim(9, queues=["a", "b"], wait=True)
    listener = db.connect()
    listener.execute("listen windlass")
    call(db, "clear_gate", **scope)
    heard = [notice.payload for notice in listener.notifies(timeout=10 if told else 0, stop_after=1)]
    assert heard == [str(jobs.node)] * told


def test_the_deed_is_recorded(db: Database) -> None:
    set_gate(db, tenant=DEFAULT_TENANT, kind="mail")
    call(db, "clear_gate", tenant=DEFAULT_TENANT, kind="mail", reason="mended", actor="ada")
    assert events(db, DEFAULT_TENANT)[-1] == ("ada", "gate.clear", None, "mended")
    set_gate(db)
    call(db, "clear_gate")
    assert [action for (action,) in events(db, NIL, "action")] == ["gate.set", "gate.clear"]


def test_a_gate_that_is_not_there_is_not_found(db: Database) -> None:
    set_gate(db, tenant=DEFAULT_TENANT, queue="a")
    for scope in ({}, {"gate": UNKNOWN}, {"queue": "a"}, {"tenant": DEFAULT_TENANT}, {"tenant": UNKNOWN}):
        with nothing_changed(db), refused("WL001", "there is no such gate"):
            call(db, "clear_gate", **scope)


def test_an_id_and_a_scope_together_are_refused(db: Database) -> None:
    gate = set_gate(db, queue="a")
    with nothing_changed(db), refused("WL007"):
        call(db, "clear_gate", gate=gate, queue="a")


def test_a_bound_role_clears_its_own_gates_only(db: Database, other: Session) -> None:
    foreign = [set_gate(db, **scope) for scope in SCOPES]
    own = set_gate(db, tenant=OTHER_TENANT)
    bind(db, "operator", OTHER_TENANT)
    for gate in (*foreign, UNKNOWN):
        with nothing_changed(db), refused("WL001", "there is no such gate"):
            call(db, "clear_gate", gate=gate, role="operator")
    with nothing_changed(db), refused("WL001"):
        call(db, "clear_gate", role="operator")
    with nothing_changed(db), refused("WL005"):
        call(db, "clear_gate", tenant=DEFAULT_TENANT, role="operator")
    assert call_value(db, "clear_gate", gate=own, role="operator") == own
