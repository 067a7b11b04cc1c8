"""Setting limits, and asking how much of one is used."""

from collections.abc import Callable
from typing import Any

from tests.sql.steps import Session
from tests.support import Database


def limit(jobs: Session, **said: Any) -> int:
    names = ", ".join(f"p_{name} => %s" for name in said)
    return int(jobs.value(f"select windlass.set_limit({names})", *said.values()))


def use(db: Database, limit_id: int) -> Any:
    (row,) = db.fetch("select * from windlass.list_limits() where id = %s", limit_id)
    return row


def wakes_who_waits(db: Database, jobs: Session, lift: Callable[[], object]) -> bool:
    """Whether a node that was kept waiting by a limit hears of it when that is lifted."""
    limit(jobs, queue="default", concurrency=0)
    jobs.enqueue()
    assert jobs.claim(1, wait=True) == []
    listener = db.connect()
    listener.execute("listen windlass")
    lift()
    return [notice.payload for notice in listener.notifies(timeout=5, stop_after=1)] == [str(jobs.node)]
