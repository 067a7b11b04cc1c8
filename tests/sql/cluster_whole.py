"""What must hold over the tables of cluster jobs at every moment."""

from tests.support import Database

# One row per broken rule.
_PROBLEMS = """
with counting as (
  select p.tenant_id, p.job_id, count(*) as parts,
         count(*) filter (where p.state in ('succeeded', 'skipped')) as done,
         count(*) filter (where p.state in ('queued', 'running')) as open
  from windlass_data.cluster_part as p group by 1, 2
), placed as (
  select c.*, n.parts as there, n.done, n.open, s.run_at, r.job_id is not null as ready,
         coalesce(j.ended_state, a.ends)::text as ended,
         j.id is not null as known
  from windlass_data.cluster_job as c
  left join windlass_data.job as j on j.tenant_id = c.tenant_id and j.id = c.job_id
  left join counting as n on n.tenant_id = c.tenant_id and n.job_id = c.job_id
  left join windlass_data.scheduled as s on s.tenant_id = c.tenant_id and s.job_id = c.job_id
  left join windlass_data.ready as r on r.job_id = c.job_id
  left join lateral (
    select a.ends from windlass_data.attempt as a
    where a.tenant_id = c.tenant_id and a.job_id = c.job_id order by a.version desc limit 1) as a on true
)
select 'cluster job ' || p.job_id || ' is of no job' from placed as p where not p.known
union all
select 'cluster job ' || p.job_id || ' is decided, and still waits for its parts'
from placed as p where p.settled_at is not null and p.run_at = 'infinity'
union all
select 'cluster job ' || p.job_id || ' has its quorum, and nobody noticed'
from placed as p where p.settled_at is null and p.done >= p.needed
union all
select 'cluster job ' || p.job_id || ' can never have its quorum, and nobody noticed'
from placed as p where p.settled_at is null and p.done + p.open < p.needed and p.ended is null
union all
select 'cluster job ' || p.job_id || ' is closed and not over' from placed as p
where p.ended_at is not null and p.ended is null
union all
select 'cluster job ' || p.job_id || ' is closed, and parts of it wait' from placed as p
where p.ended_at is not null and exists (
  select from windlass_data.cluster_part as q where q.job_id = p.job_id and q.state = 'queued')
union all
select 'the part of ' || p.node_name || ' is ' || p.state || ' and has a lease or a token that does not fit'
from windlass_data.cluster_part as p
where (p.state = 'running') <> (p.expires_at is not null) or (p.state = 'queued' and p.token is not null)
   or (p.state = 'running' and p.token is null)
   or (p.state in ('queued', 'running')) <> (p.finished_at is null)
union all
select 'the part of ' || p.node_name || ' waits after ' || p.counted || ' attempts'
from windlass_data.cluster_part as p
join windlass_data.cluster_job as c on c.tenant_id = p.tenant_id and c.job_id = p.job_id
where p.state in ('queued', 'running') and p.counted >= c.part_max_attempts
union all
select 'the leader is no known node' from windlass_data.leader as l
where l.node_id is not null and not exists (select from windlass_data.node as n where n.id = l.node_id)
"""


def assert_cluster_whole(db: Database) -> None:
    """Cluster jobs, their parts and their places agree."""
    rows = db.connection("superuser").execute(_PROBLEMS.encode()).fetchall()
    assert [problem for (problem,) in rows] == []
