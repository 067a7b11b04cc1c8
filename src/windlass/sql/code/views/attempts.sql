-- For people with psql: the attempts of the tenant that the session has set, the running ones without an outcome.
-- Empty while windlass.tenant_id is not set.
-- definer: owner
-- grant: operator, reader
create view windlass.attempts as
select a.tenant_id, a.job_id, a.version as number, a.node_id, a.started_at, a.finished_at, a.outcome::text as outcome,
       a.ends::text as ends, a.counted,
       case when c.cents is null then a.cost_cents
            else least(c.cents + coalesce(a.cost_cents, 0), 9223372036854775807)::bigint end as cost_cents,
       a.result, a.error, n.name as node_name
from windlass_data.attempt as a
left join windlass_data.node as n
  on n.id = a.node_id and ((select windlass_data.bound_tenant()) is null or n.login = session_user)
left join lateral (
  select sum(c.cents) as cents from windlass_data.cost as c
  where c.tenant_id = a.tenant_id and c.job_id = a.job_id and c.version = a.version
) as c on true
union all
select l.tenant_id, m.job_id, m.version, l.node_id, l.claimed_at, null, null, null, m.counted + 1,
       case when c.cents is not null then least(c.cents, 9223372036854775807)::bigint end, null, null, n.name
from windlass_data.lease as l
left join windlass_data.node as n
  on n.id = l.node_id and ((select windlass_data.bound_tenant()) is null or n.login = session_user)
cross join lateral unnest(l.job_ids, l.versions, l.counted) as m(job_id, version, counted)
left join lateral (
  select sum(c.cents) as cents from windlass_data.cost as c
  where c.tenant_id = l.tenant_id and c.job_id = m.job_id and c.version = m.version
) as c on true
where not exists (
  select from windlass_data.attempt as a
  where a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version);
comment on view windlass.attempts is 'The attempts of the tenant that the session has set.';
