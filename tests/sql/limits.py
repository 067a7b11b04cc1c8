"""Setting limits, and asking how much of one is used."""

from typing import Any

from tests.sql.steps import Session
from tests.support import Database


def limit(jobs: Session, **said: Any) -> int:
    names = ", ".join(f"p_{name} => %s" for name in said)
    return int(jobs.value(f"select windlass.set_limit({names})", *said.values()))


def use(db: Database, limit_id: int) -> Any:
    (row,) = db.fetch("select * from windlass.list_limits() where id = %s", limit_id)
    return row
