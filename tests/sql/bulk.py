"""A database with many jobs in every place, and what a call costs in it."""

import json
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, sql

from tests.support import Database

# Two queues, five kinds and two priorities of one tenant: twenty lanes, as an installation may have.
_LANES = """
insert into windlass_data.queue (name) values ('other') on conflict do nothing;
insert into windlass_data.lane (tenant_id, queue, kind, priority)
select '00000000-0000-7000-8000-000000000001', q, 'k' || k, p
from unnest(array['default', 'other']) as q, generate_series(0, 4) as k, generate_series(0, 1) as p
on conflict do nothing
"""
_JOBS = """
create temp table made on commit drop as
select windlass_data.new_id() as id, l.id as lane_id, n,
       case when {place} = 'ready' then {start} + n end as seq
from generate_series(1, {count}) as n
join (select l.*, row_number() over (order by l.id) as nth from windlass_data.lane as l) as l
  on l.nth = n % 20 + 1;
insert into windlass_data.job
  (tenant_id, id, lane_id, seq, max_attempts, created_at, payload, idempotency_key)
select '00000000-0000-7000-8000-000000000001', m.id, m.lane_id, m.seq, 5, now(), '{{"n": 1}}',
       case when {place} = 'finished' then m.id::text end
from made as m;
"""
_PLACES = {
    "ready": """
insert into windlass_data.ready (lane_id, version, seq, tenant_id, job_id, counted)
select m.lane_id, 0, m.seq, '00000000-0000-7000-8000-000000000001', m.id, 0 from made as m order by m.seq;
insert into windlass_data.busy_lane
select l.id, l.tenant_id, l.queue, l.kind, l.priority from windlass_data.lane as l
where not exists (select from windlass_data.busy_lane as b where b.lane_id = l.id)""",
    "scheduled": """
insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
select '00000000-0000-7000-8000-000000000001', m.id, now() + interval '7 days' + m.n * interval '1 ms',
       m.lane_id, 0, 0 from made as m""",
    "finished": """
insert into windlass_data.attempt
  (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends)
select '00000000-0000-7000-8000-000000000001', m.id, 1, 1, m.id, m.id, now(), now(), 'succeeded', 'succeeded'
from made as m;
insert into windlass_data.idempotency_key (tenant_id, kind, key, job_id)
select '00000000-0000-7000-8000-000000000001', l.kind, m.id::text, m.id
from made as m join windlass_data.lane as l on l.id = m.lane_id""",
    "running": """
insert into windlass_data.lease
  (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
select gen_random_uuid(), '00000000-0000-7000-8000-000000000001', m.lane_id, gen_random_uuid(), now(),
       now() + interval '1 day', count(*), array_agg(m.id), array_agg(1), array_agg(0)
from made as m group by m.lane_id, m.n / 200""",
}
HOT = ("job", "attempt", "ready", "scheduled", "lease", "idempotency_key")


def keep_statistics_still(db: Database) -> None:
    """No vacuum or analyze but the test's own."""
    tables = db.fetch(
        "select oid::regclass::text from pg_class where relnamespace = 'windlass_data'::regnamespace "
        "and relkind = 'r'",
        role="superuser",
    )
    for (table,) in tables:
        db.execute(f"alter table {table} set (autovacuum_enabled = off)", role="superuser")


def fill(db: Database, counts: dict[str, int]) -> None:
    """Add so many jobs to each place."""
    conn = db.connection("superuser")
    conn.execute(_LANES.encode())
    for place, count in counts.items():
        with conn.transaction():
            (start,) = conn.execute("select nextval('windlass_data.ready_seq')").fetchone() or (0,)
            made = sql.SQL(_JOBS).format(place=place, start=start, count=count)
            conn.execute(made.as_string().encode())
            conn.execute(_PLACES[place].encode())
            conn.execute("select setval('windlass_data.ready_seq', %s)", [start + count + 1])


@dataclass(frozen=True)
class Cost:
    """What one call touched: pages in all, big tables that it read from end to end, and its time."""

    pages: int
    scanned: frozenset[str]
    milliseconds: float


def measure(conn: Connection[Any], query: str, *parameters: Any) -> Cost:
    """The cost of a call inside the caller's transaction, its nested statements included."""
    before = _scans(conn)
    explain = f"explain (analyze, buffers, timing off, summary on, format json) {query}".encode()
    row = conn.execute(explain, parameters).fetchone()
    assert row is not None
    (plan,) = json.loads(row[0]) if isinstance(row[0], str) else row[0]
    pages = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    after = _scans(conn)
    scanned = frozenset(name for name, n in after.items() if n > before.get(name, 0) + 1000)
    return Cost(pages, scanned, plan["Execution Time"])


def _scans(conn: Connection[Any]) -> dict[str, int]:
    """Rows that sequential scans of this transaction read so far; partitions under their parent's name."""
    rows = conn.execute(
        "select coalesce(p.relname, s.relname) as name, sum(s.seq_tup_read) as n "
        "from pg_stat_xact_all_tables as s "
        "left join pg_inherits as i on i.inhrelid = s.relid left join pg_class as p on p.oid = i.inhparent "
        "where s.schemaname = 'windlass_data' group by 1"
    ).fetchall()
    return {row.name: int(row.n) for row in rows if row.name in HOT}
