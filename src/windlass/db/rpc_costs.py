"""The verbs of the ledger: one function here for one SQL function, of the same name."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from windlass.db.call import Call, Row
from windlass.db.columns import Columns
from windlass.db.wire import Ids, Texts
from windlass.model.cost import Cost, CostEntry, Costs

__all__ = ["fold_costs", "list_costs", "list_job_costs", "record_costs"]

_COST = Columns(
    Cost.from_row,
    ids="tenant_id",
    plain="tenant queue kind day entries",
    computed={"cents": "cents::text"},
)
_ENTRY = Columns(CostEntry.from_row, plain="at attempt cents what")


def record_costs(
    tokens: Sequence[bytes],
    jobs: Sequence[bytes],
    cents: Sequence[int],
    whats: Sequence[str],
    ids: Sequence[bytes],
) -> Call[list[str]]:
    """A code for each: `ok`, or the error code of a refused one.  With the same ids it may be said again."""
    text = (
        "select code from windlass.record_costs($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::uuid[])"
    )
    return Call(text, (Ids(tokens), Ids(jobs), list(cents), Texts(whats), Ids(ids)), _codes)


def _codes(rows: Sequence[Row]) -> list[str]:
    return [str(row[0]) for row in rows]


def fold_costs(limit: int) -> Call[int]:
    """How many rows went into the sums of their days."""
    return Call("select windlass.fold_costs($1::int)", (limit,), lambda rows: int(rows[0][0]))


def list_costs(
    tenant: UUID | None,
    *,
    since: date | None,
    until: date | None,
    by: Sequence[str],
    queues: Sequence[str] | None,
    kinds: Sequence[str] | None,
    limit: int,
) -> Call[Costs]:
    text = _COST.select(
        "windlass.list_costs(p_tenant => $1::uuid, p_since => $2::date, p_until => $3::date,"
        " p_by => $4::text[], p_queues => $5::text[], p_kinds => $6::text[], p_limit => $7::int)",
        also="total_cents::text, total_entries, total_rows",
    )
    names = [None if given is None else list(given) for given in (queues, kinds)]
    return Call(text, (tenant, since, until, list(by), *names, limit), _costs)


def _costs(rows: Sequence[Row]) -> Costs:
    items = tuple(_COST.read_all(rows))
    if not rows:
        return Costs(items)
    cents, entries, count = rows[0][-3:]
    return Costs(items, cents=int(cents), entries=entries, more=count > len(items))


def list_job_costs(tenant: UUID, job_id: UUID, limit: int) -> Call[list[CostEntry]]:
    text = _ENTRY.select("windlass.list_job_costs($1::uuid, $2::uuid, p_limit => $3::int)")
    return Call(text, (tenant, job_id, limit), _ENTRY.read_all)
