"""set_gate: a pause that every claim honours from the moment it commits, and that says who set it and why."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.sql.operate import NIL, bind, call, call_value, events
from tests.sql.steps import DEFAULT_TENANT, NODE, OTHER_TENANT, UNKNOWN, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Clock, Database

pytestmark = pytest.mark.every_version


def set_gate(db: Database, **scope: Any) -> UUID:
    gate = call_value(db, "set_gate", **scope)
    assert isinstance(gate, UUID)
    return gate


@pytest.mark.parametrize(
    ("scope", "passes"),
    [
        ({"everything": True}, set()),
        ({"tenant": DEFAULT_TENANT}, {"theirs"}),
        ({"queue": "slow"}, {"mail", "report", "theirs"}),
        ({"kind": "mail"}, {"slow", "report"}),
        ({"node": str(NODE)}, set()),
        ({"node": "nightjar"}, set()),
        ({"node": "another"}, {"mail", "slow", "report", "theirs"}),
        ({"tenant": DEFAULT_TENANT, "kind": "mail"}, {"slow", "report", "theirs"}),
        ({"queue": "default", "kind": "report"}, {"mail", "slow", "theirs"}),
        ({"tenant": OTHER_TENANT, "queue": "slow"}, {"mail", "slow", "report", "theirs"}),
    ],
)
def test_what_each_scope_holds(
    db: Database, jobs: Session, other: Session, scope: dict[str, Any], passes: set[str]
) -> None:
    call(db, "heartbeat_node", node=NODE, name="nightjar")
    made = {
        jobs.enqueue("mail"): "mail",
        jobs.enqueue("report"): "report",
        jobs.enqueue("archive", queue="slow"): "slow",
        other.enqueue("mail"): "theirs",
    }
    gate = set_gate(db, **scope)
    assert {made[row.job_id] for row in jobs.claim(9, queues=["default", "slow"])} == passes
    call(db, "clear_gate", gate=gate)
    rest = jobs.claim(9, queues=["default", "slow"])
    assert {made[row.job_id] for row in rest} == set(made.values()) - passes


def test_what_runs_already_runs_on(db: Database, jobs: Session) -> None:
    jobs.enqueue()
    held = jobs.claim_one()
    set_gate(db, everything=True)
    assert jobs.renew(held.token) == [(held.token, held.job_id, "gated")], "so that it starts nothing of it"
    assert jobs.complete(held) == []


def test_what_runs_already_is_sent_back_when_asked(db: Database, jobs: Session) -> None:
    for kind in ("mail", "mail", "report"):
        jobs.enqueue(kind)
    held = jobs.claim(3)
    set_gate(db, kind="mail", release=True)
    done, mail = (row for row in held if row.kind == "mail")
    jobs.complete(done)
    tokens = {row.token for row in held}
    assert jobs.renew(*tokens) == [(mail.token, mail.job_id, "release_requested")]
    set_gate(db, kind="mail")
    assert jobs.renew(*tokens) == [(mail.token, mail.job_id, "gated")]
    call(db, "clear_gate", kind="mail")
    assert jobs.renew(*tokens) == []


def test_a_gate_ends_at_its_expiry(db: Database, jobs: Session, clock: Clock) -> None:
    jobs.enqueue()
    set_gate(db, queue="default", expires_at=clock.now() + timedelta(minutes=5))
    assert jobs.claim() == []
    clock.advance(timedelta(minutes=6))
    assert len(jobs.claim()) == 1


def test_the_same_scope_again_changes_the_one_gate(db: Database, jobs: Session, clock: Clock) -> None:
    first = set_gate(db, tenant=DEFAULT_TENANT, kind="mail", reason="a", actor="ada")
    since = call(db, "list_gates")[0].created_at
    until = clock.now() + timedelta(hours=1)
    again = set_gate(db, tenant=DEFAULT_TENANT, kind="mail", reason="b", actor="bob", expires_at=until)
    assert first == again
    (gate,) = call(db, "list_gates")
    assert (gate.reason, gate.actor, gate.expires_at, gate.created_at) == ("b", "bob", until, since)
    assert set_gate(db, kind="mail") != first
    assert len(call(db, "list_gates")) == 2


def test_a_gate_set_anew_after_its_expiry_holds_since_then(db: Database, clock: Clock) -> None:
    first = set_gate(db, queue="q", expires_at=clock.now() + timedelta(minutes=1))
    clock.advance(timedelta(hours=1))
    now = clock.freeze()
    assert set_gate(db, queue="q") == first
    assert call(db, "list_gates")[0].created_at == now


def test_the_deed_is_recorded_for_the_tenant_or_for_the_installation(db: Database) -> None:
    set_gate(db, tenant=DEFAULT_TENANT, queue="mail", reason="flood", actor="ada")
    set_gate(db, reason="all stop", everything=True)
    assert events(db, DEFAULT_TENANT) == [("ada", "gate.set", None, "flood")]
    assert events(db, NIL) == [("windlass_app", "gate.set", None, "all stop")]
    ((details,),) = events(db, DEFAULT_TENANT, "details")
    assert (details["queue"], details["kind"]) == ("mail", None)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"queue": None},
        {"queue": "mail", "everything": True},
        {"queue": ""},
        {"queue": "a b"},
        {"queue": "q" * 101},
        {"kind": ""},
        {"kind": "k" * 201},
        {"node": ""},
        {"node": "n" * 201},
        {"expires_at": "2001-01-01", "queue": "q"},
        {"expires_at": "infinity", "queue": "q"},
        {"expires_at": "20000-01-01Z", "queue": "q"},
    ],
)
def test_bad_input_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    with nothing_changed(db), refused("WL007"):
        set_gate(db, **wrong)


def test_an_unknown_tenant_is_not_found(db: Database) -> None:
    for tenant in (UNKNOWN, NIL):
        with nothing_changed(db), refused("WL001", "there is no tenant"):
            set_gate(db, tenant=tenant)


def test_a_bound_role_gates_its_own_tenant_only(db: Database, jobs: Session, other: Session) -> None:
    bind(db, "operator", OTHER_TENANT)
    for scope in (
        {},
        {"queue": "default"},
        {"node": str(NODE)},
        {"tenant": DEFAULT_TENANT},
        {"tenant": UNKNOWN},
    ):
        with nothing_changed(db), refused("WL005"):
            set_gate(db, role="operator", **scope)
    set_gate(db, role="operator", tenant=OTHER_TENANT)
    other.enqueue()
    mine = jobs.enqueue()
    assert [row.job_id for row in jobs.claim(9)] == [mine]
