"""The list of lanes that claims look at: what it costs to keep, and what it spares a claim."""

from uuid import uuid4

import pytest

from tests.sql.bulk import measure
from tests.sql.steps import Session
from tests.support import Database
from windlass.cluster import LaneKeeper
from windlass.db.link import AsyncLink

pytestmark = pytest.mark.every_version


def listed(db: Database) -> int:
    return int(db.fetch_value("select count(*) from windlass_data.busy_lane", role="superuser"))


def test_a_transaction_over_thousands_of_lanes_takes_few_locks(db: Database, jobs: Session) -> None:
    with jobs.conn.transaction():
        jobs.enqueue_many([{"kind": f"k{n}", "payload": n} for n in range(3000)])
        locks = jobs.value("select count(*) from pg_locks where locktype = 'advisory'")
    assert locks <= 256
    assert listed(db) == 3000


@pytest.mark.parametrize("had_work", [False, True], ids=["never had any", "had some"])
async def test_tenants_without_work_cost_a_claim_nothing(db: Database, had_work: bool) -> None:
    """Ten thousand lanes; what had work is off the list after one look of the keeper."""
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
    if had_work:
        text = "select array_agg(l.id) from windlass_data.lane as l"
        lanes = db.fetch_value(text, role="superuser")
        db.execute("select windlass._note_work(%s)", lanes, role="superuser")
        assert listed(db) >= 10_000
        assert _claim_pages(db) > 5_000, "each claim looks at all that are listed"
        link = AsyncLink(db.url(), application_name="windlass node test")
        try:
            keeper = LaneKeeper(link)
            await keeper.tick()
        finally:
            await link.close()
        assert keeper.retired >= 10_000
        assert listed(db) == 0
    assert _claim_pages(db) < 300, "pages read by a claim, rows that autovacuum is going to remove included"


def _claim_pages(db: Database) -> int:
    """What a claim reads that finds nothing, in a session that has made it before."""
    conn = db.connect(autocommit=False)
    claim = "select * from windlass.claim_jobs(%s, '{default}', null, 5)"
    pages = [measure(conn, claim, uuid4()).pages for _ in range(8)]
    conn.rollback()
    return min(pages[5:])
