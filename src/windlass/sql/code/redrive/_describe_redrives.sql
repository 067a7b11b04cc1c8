-- These redrives as the outside sees them: until one has ended, its state is that of its job.
-- definer: none
create function windlass._describe_redrives(p_tenant uuid, p_ids uuid[])
returns table (
  id uuid, tenant_id uuid, state text, kinds text[], queues text[], error_like text, died_from timestamptz,
  died_to timestamptz, named integer, patch jsonb, max_attempts integer, throttle double precision,
  stop_rate double precision, stop_after integer, expected bigint, actor text, reason text, created_at timestamptz,
  matched bigint, redriven bigint, refused bigint, passed bigint, ended bigint, died bigint, refusals jsonb,
  stop_reason text, ended_at timestamptz, read_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select r.id, r.tenant_id, coalesce(r.outcome, d.state, 'gone'), r.kinds, r.queues, r.error_like, r.died_from, r.died_to,
         cardinality(r.jobs), r.patch, r.max_attempts::integer, r.throttle, r.stop_rate, r.stop_after, r.expected, r.actor,
         r.reason, r.created_at, r.matched, r.redriven, r.refused, r.passed, r.ended, r.died, r.refusals,
         coalesce(r.stop_reason, case when r.outcome is null then coalesce(d.ended_reason, d.error ->> 'message') end),
         coalesce(r.ended_at, d.finished_at), windlass_data.clock()
  from windlass_data.redrive as r
  left join windlass._describe_jobs(p_tenant, p_ids) as d on d.id = r.id
  where r.tenant_id = p_tenant and r.id = any (p_ids)
  order by r.id desc;
end
$$;
comment on function windlass._describe_redrives is 'Redrives as the outside sees them.';
