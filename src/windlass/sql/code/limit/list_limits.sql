-- The limits with what is used of them now: all, or those that hold something of one tenant.
--
-- A role bound to a tenant sees its own limits, and of those that it shares with others what they say and not their use.
-- definer: engine
-- grant: operator, reader
create function windlass.list_limits(p_tenant uuid default null)
returns table (
  id integer, tenant_id uuid, queue text, kind text, concurrency integer, running integer, rate integer,
  rate_seconds double precision, burst integer, tokens double precision, depth bigint, waiting bigint,
  budget_cents bigint, warn_cents bigint, budget_period text, spent_cents bigint, again_at timestamptz, reason text,
  actor text, changed_at timestamptz, tenant text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(p_tenant);
  v_bound uuid := windlass_data.bound_tenant();
  v_now timestamptz := windlass_data.clock();
begin
  return query
  select m.id, m.tenant_id, m.queue, m.kind, m.concurrency, case when m.concurrency is not null then r.running end, m.rate,
         m.rate_seconds, m.burst, r.tokens, m.depth,
         case when s.seen and m.depth is not null then windlass._depth_of(m.id, m.depth) end,
         m.budget_cents, m.warn_cents, m.budget_period, r.spent, r.again_at, m.reason, m.actor, m.changed_at,
         (select t.slug from windlass_data.tenant as t where t.id = m.tenant_id)
  from windlass_data.job_limit as m
  cross join lateral (select v_bound is null or v_bound = m.tenant_id as seen) as s
  left join lateral windlass._limit_rooms(array[m.id], v_now) as r on s.seen
  where v_only is null or m.tenant_id is null or m.tenant_id = v_only
  order by m.id;
end
$$;
comment on function windlass.list_limits is 'The limits, and what is used of them.';
