"""What must hold over the raw tables at every moment, and that a refused call has touched none of them."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support import Database

# One row per broken rule.  `place` has one row for each place that holds a job: the rule of all rules is
# that each job has exactly one.
_PROBLEMS = """
with attempts as (
  select a.tenant_id, a.job_id, count(*) as n, max(a.version) as last, min(a.version) as first,
         count(a.ends) as terminal, max(a.version) filter (where a.ends is not null) as terminal_version,
         max(a.counted) filter (where a.ends is not null) as counted
  from windlass_data.attempt as a group by 1, 2
), held as (
  select l.id as token, l.tenant_id, l.lane_id, l.open, m.job_id, m.version, m.counted,
         not exists (
           select from windlass_data.attempt as a
           where a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version) as runs
  from windlass_data.lease as l
  cross join lateral unnest(l.job_ids, l.versions, l.counted) as m(job_id, version, counted)
), place as (
  select tenant_id, job_id, 'ready' as place, lane_id, version, counted from windlass_data.ready
  union all
  select tenant_id, job_id, 'scheduled', lane_id, version, counted from windlass_data.scheduled
  union all
  select tenant_id, job_id, 'running', lane_id, version - 1, counted from held where runs
  union all
  select j.tenant_id, j.id, 'ended', j.lane_id, coalesce(a.last, 0), coalesce(a.counted - 1, 0)
  from windlass_data.job as j left join attempts as a on a.tenant_id = j.tenant_id and a.job_id = j.id
  where j.ended_state is not null or a.terminal_version is not null
), places as (
  select tenant_id, job_id, array_agg(place order by place) as found from place group by 1, 2
)
select 'job ' || j.id || ' is in ' || coalesce(p.found::text, 'no place')
from windlass_data.job as j left join places as p on p.tenant_id = j.tenant_id and p.job_id = j.id
where cardinality(p.found) is distinct from 1
union all
select p.place || ' names the unknown job ' || p.job_id
from place as p
where not exists (select from windlass_data.job as j where j.tenant_id = p.tenant_id and j.id = p.job_id)
union all
select p.place || ' puts job ' || p.job_id || ' into another lane'
from place as p join windlass_data.job as j on j.tenant_id = p.tenant_id and j.id = p.job_id
where p.lane_id <> j.lane_id
union all
select p.place || ' gives job ' || p.job_id || ' version ' || p.version || ' after ' || coalesce(a.last, 0)
from place as p left join attempts as a on a.tenant_id = p.tenant_id and a.job_id = p.job_id
where p.version <> coalesce(a.last, 0)
union all
select 'job ' || r.job_id || ' does not know its place in line'
from windlass_data.ready as r join windlass_data.job as j on j.tenant_id = r.tenant_id and j.id = r.job_id
where j.seq is distinct from r.seq
union all
select distinct 'lane ' || r.lane_id || ' has jobs in line that no claim would look for'
from windlass_data.ready as r
where not exists (select from windlass_data.busy_lane as b where b.lane_id = r.lane_id)
union all
select 'the attempts of job ' || a.job_id || ' have a gap' from attempts as a
where a.first <> 1 or a.n <> a.last
union all
select 'job ' || a.job_id || ' ended before its last attempt, or twice' from attempts as a
where a.terminal > 1 or a.terminal_version <> a.last
union all
select p.place || ' has job ' || p.job_id || ' with ' || p.counted || ' attempts of ' || j.max_attempts
from place as p join windlass_data.job as j on j.tenant_id = p.tenant_id and j.id = p.job_id
where p.counted >= j.max_attempts
union all
select 'lease ' || h.token || ' says ' || max(h.open) || ' open of ' || count(*) filter (where h.runs)
from held as h group by h.token
having max(h.open) < count(*) filter (where h.runs)
    or (%(exact)s and max(h.open) <> count(*) filter (where h.runs))
union all
select 'lease ' || l.id || ' has arrays of unlike length' from windlass_data.lease as l
where cardinality(l.job_ids) <> cardinality(l.versions) or cardinality(l.job_ids) <> cardinality(l.counted)
union all
select 'job ' || j.id || ' has a key and stands in no line of it'
from windlass_data.job as j
join place as p on p.tenant_id = j.tenant_id and p.job_id = j.id and p.place <> 'ended'
where j.concurrency_key is not null and not exists (
  select from windlass_data.key_line as k where k.tenant_id = j.tenant_id and k.job_id = j.id)
union all
select 'job ' || k.job_id || ' stands in the line of its key and is ' || coalesce(p.place, 'nowhere')
from windlass_data.key_line as k
left join place as p on p.tenant_id = k.tenant_id and p.job_id = k.job_id
left join windlass_data.scheduled as s on s.tenant_id = k.tenant_id and s.job_id = k.job_id
where p.place is null or p.place = 'ended' or (not k.held and p.place <> 'scheduled')
   or (k.place is null) is distinct from (s.run_at is not null and s.run_at < 'infinity' and not k.held)
   or (k.held and s.run_at = 'infinity')
union all
select k.kind || ' ' || k.key || ' is held by ' || count(*) from windlass_data.key_line as k
where k.held group by k.tenant_id, k.kind, k.key having count(*) > max(k.allowed)
union all
select k.kind || ' ' || k.key || ' has a turn to give that nobody will give'
from windlass_data.key_line as k
where not exists (
  select from windlass_data.key_check as c
  where c.tenant_id = k.tenant_id and c.kind = k.kind and c.key = k.key)
group by k.tenant_id, k.kind, k.key
having count(*) filter (where k.held) < max(k.allowed) filter (where not k.held and k.place is not null)
union all
select 'attempt of the unknown job ' || a.job_id from attempts as a
where not exists (select from windlass_data.job as j where j.tenant_id = a.tenant_id and j.id = a.job_id)
union all
select 'key ' || k.key || ' names the unknown job ' || k.job_id from windlass_data.idempotency_key as k
where not exists (select from windlass_data.job as j where j.tenant_id = k.tenant_id and j.id = k.job_id)
union all
select 'job ' || j.id || ' has not ended and its key ' || j.idempotency_key || ' is not its own'
from windlass_data.job as j
join windlass_data.lane as l on l.id = j.lane_id
join place as p on p.tenant_id = j.tenant_id and p.job_id = j.id and p.place <> 'ended'
where j.idempotency_key is not null and not exists (
  select from windlass_data.idempotency_key as k
  where k.tenant_id = j.tenant_id and k.kind = l.kind and k.key = j.idempotency_key and k.job_id = j.id)
union all
select 'a cancel request waits for job ' || c.job_id || ' in ' || coalesce(p.found::text, 'no place')
from windlass_data.cancel_request as c
left join places as p on p.tenant_id = c.tenant_id and p.job_id = c.job_id
where p.found is distinct from array['running']
  and not (%(late_cancel)s and exists (
    select from windlass_data.attempt as a
    where a.tenant_id = c.tenant_id and a.job_id = c.job_id and a.ends in ('succeeded', 'skipped')))
"""


def find_problems(db: Database, *, exact_leases: bool = True, late_cancel: bool = False) -> list[str]:
    """Every rule that the tables break now.

    A success inside a caller's transaction leaves its lease's count too high until the worker reports it:
    `exact_leases` off allows that.  A success never waits for a cancel, so the request may stay behind it:
    `late_cancel` allows that.
    """
    conn = db.connection("superuser")
    rows = conn.execute(_PROBLEMS, {"exact": exact_leases, "late_cancel": late_cancel}).fetchall()
    return [problem for (problem,) in rows]


def assert_whole(db: Database, *, exact_leases: bool = True, late_cancel: bool = False) -> None:
    """Every job is in exactly one place, and everything written about it agrees."""
    assert find_problems(db, exact_leases=exact_leases, late_cancel=late_cancel) == []


def read_tables(db: Database) -> dict[str, list[str]]:
    """Every row of the state with its physical version, so that even a write of the same value shows."""
    tables = db.fetch(
        "select c.relname from pg_class as c where c.relnamespace = 'windlass_data'::regnamespace "
        "and c.relkind in ('r', 'p') and not c.relispartition order by 1",
        role="superuser",
    )
    found: dict[str, list[str]] = {name: [] for (name,) in tables}
    # One statement of one text: a session plans it once, and some tests ask a thousand times.
    every = " union all ".join(
        f"select '{name}' as name, concat_ws(' ', t.tableoid, t.ctid, t.xmin, t) as line"
        f" from windlass_data.{name} as t"
        for name in found
    )
    for row in db.fetch(every, role="superuser"):
        found[row.name].append(row.line)
    return {name: sorted(lines) for name, lines in found.items()}


def lapse(db: Database) -> None:
    """Let every lease run out, without moving the clock."""
    db.execute("update windlass_data.lease set expires_at = '2000-01-01Z'", role="superuser")


def clear(db: Database) -> None:
    """Forget every job, so that one database serves several cases."""
    db.execute(
        "truncate windlass_data.job, windlass_data.attempt, windlass_data.ready, windlass_data.scheduled, "
        "windlass_data.lease, windlass_data.cancel_request, windlass_data.idempotency_key",
        role="superuser",
    )


@contextmanager
def nothing_changed(db: Database) -> Iterator[None]:
    """Fail if the block writes a row, or rewrites one, in any table."""
    before = read_tables(db)
    yield
    assert read_tables(db) == before
