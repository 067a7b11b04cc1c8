-- For people with psql: the attempts of the tenant that the session has set, the running ones without an outcome.
-- Empty while windlass.tenant_id is not set.
-- definer: owner
-- grant: operator, reader
create view windlass.attempts as
select a.tenant_id, a.job_id, a.version as number, a.node_id, a.started_at, a.finished_at, a.outcome::text as outcome,
       a.ends::text as ends, a.counted, a.cost_cents, a.result, a.error
from windlass_data.attempt as a
union all
select l.tenant_id, m.job_id, m.version, l.node_id, l.claimed_at, null, null, null, m.counted + 1, null, null, null
from windlass_data.lease as l
cross join lateral unnest(l.job_ids, l.versions, l.counted) as m(job_id, version, counted)
where not exists (
  select from windlass_data.attempt as a
  where a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version);
comment on view windlass.attempts is 'The attempts of the tenant that the session has set.';
