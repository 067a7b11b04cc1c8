"""The list of lanes that claims look at: what it costs to keep, and what it spares a claim."""

from typing import Any
from uuid import uuid4

import pytest
from psycopg import Connection

from tests.sql.steps import Session
from tests.support import Database

pytestmark = pytest.mark.every_version


def listed(db: Database) -> int:
    return int(db.fetch_value("select count(*) from windlass_data.busy_lane", role="superuser"))


def test_a_transaction_over_thousands_of_lanes_takes_few_locks(db: Database, jobs: Session) -> None:
    with jobs.conn.transaction():
        jobs.enqueue_many([{"kind": f"k{n}", "payload": n} for n in range(3000)])
        locks = jobs.value("select count(*) from pg_locks where locktype = 'advisory'")
    assert locks <= 256
    assert listed(db) == 3000


def test_tenants_without_work_cost_a_claim_nothing(db: Database, jobs: Session) -> None:
    """Ten thousand that had some, and one that has some now."""
    db.execute(
        "insert into windlass_data.tenant (id, slug, name) select ('00000000-0000-7000-9000-' || "
        "lpad(n::text, 12, '0'))::uuid, 't' || n, 't' from generate_series(1, 10000) as n",
        role="superuser",
    )
    db.execute(
        "insert into windlass_data.lane (tenant_id, queue, kind, priority) "
        "select t.id, 'default', 'mail', 0 from windlass_data.tenant as t on conflict do nothing",
        role="superuser",
    )
    conn = db.connect("superuser")
    pages = []
    for _ in range(8):
        jobs.enqueue()
        before = _pages(conn)
        assert len(Session(conn, node=uuid4()).claim(5)) == 1
        pages.append(_pages(conn) - before)
    assert min(pages[3:]) < 200, "pages read by a claim"


def _pages(conn: Connection[Any]) -> int:
    row = conn.execute(
        "select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) "
        "from pg_statio_user_tables "
        "where schemaname = 'windlass_data' and pg_stat_force_next_flush() is not null"
    ).fetchone()
    return int(row[0]) if row else 0
