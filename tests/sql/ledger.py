"""What the ledger says, as the tests of costs ask it."""

from typing import Any
from uuid import UUID

from tests.sql.steps import Session


def entries(jobs: Session, job_id: UUID) -> list[tuple[int, int, str | None]]:
    """Attempt, cents and purpose of every cost of a job."""
    rows = jobs.call("select * from windlass.list_job_costs(%s, %s)", jobs.tenant, job_id)
    return [(row.attempt, row.cents, row.what) for row in rows]


def sums(jobs: Session, *by: str, tenant: UUID | None = None, **filters: Any) -> dict[Any, int]:
    """Cents by what was asked for; a single key where it was one thing."""
    given = {"p_by": list(by), "p_tenant": tenant, **{f"p_{name}": value for name, value in filters.items()}}
    types = {"p_by": "text[]", "p_tenant": "uuid", "p_since": "date", "p_until": "date"}
    names = ", ".join(f"{name} => %s::{types.get(name, 'text[]')}" for name in given)
    rows = jobs.call(f"select * from windlass.list_costs({names})", *given.values())
    keys = [tuple(getattr(row, name) for name in by) for row in rows]
    return {(key[0] if len(key) == 1 else key): int(row.cents) for key, row in zip(keys, rows, strict=True)}


def total(jobs: Session) -> int:
    """Everything that was ever reported, by the sums."""
    return sum(sums(jobs).values())


def fold(jobs: Session, limit: int = 5000) -> int:
    moved: int = jobs.value("select windlass.fold_costs(%s)", limit)
    return moved
