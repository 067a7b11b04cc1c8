"""set_queue: how tenants share a queue."""

from typing import Any

import pytest

from tests.sql.operate import NIL, bind, call, events
from tests.sql.steps import DEFAULT_TENANT, Session, refused
from tests.sql.whole import nothing_changed
from tests.support import Database

pytestmark = pytest.mark.every_version


def modes(db: Database) -> dict[str, str]:
    return {row.name: row.mode for row in call(db, "list_queues")}


def test_a_queue_is_made_or_changed(db: Database) -> None:
    assert modes(db) == {}
    call(db, "set_queue", queue="urgent", mode="strict")
    call(db, "set_queue", queue="default", mode="strict")
    assert modes(db) == {"default": "strict", "urgent": "strict"}
    call(db, "set_queue", queue="default", mode="fair")
    assert modes(db)["default"] == "fair"


def test_strict_lets_priority_alone_decide(db: Database, jobs: Session, other: Session) -> None:
    high = [jobs.enqueue(priority=5) for _ in range(3)]
    other.enqueue()
    call(db, "set_queue", queue="default", mode="strict")
    assert [row.job_id for row in jobs.claim(3)] == high


def test_the_deed_is_recorded_for_the_installation(db: Database) -> None:
    call(db, "set_queue", queue="default", mode="strict", reason="peak", actor="ada")
    assert events(db, NIL) == [("ada", "queue.set", None, "peak")]
    assert events(db, NIL, "details") == [({"queue": "default", "mode": "strict", "mode_before": "fair"},)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue": None, "mode": "fair"},
        {"queue": "", "mode": "fair"},
        {"queue": "a b", "mode": "fair"},
        {"queue": "q" * 101, "mode": "fair"},
        {"queue": "q", "mode": None},
        {"queue": "q", "mode": "FAIR"},
    ],
)
def test_bad_input_is_refused(db: Database, wrong: dict[str, Any]) -> None:
    with nothing_changed(db), refused("WL007"):
        call(db, "set_queue", **wrong)


def test_a_bound_role_cannot(db: Database) -> None:
    bind(db, "operator", DEFAULT_TENANT)
    with nothing_changed(db), refused("WL005"):
        call(db, "set_queue", queue="default", mode="strict", role="operator")
