-- Queues by name with their load as _load_of counts it, since when their oldest ready job could have started, how many
-- nodes wait for work, and whether a gate holds all of it; for all tenants or for one.
--
-- Of a tenant only the queues that it has used are shown: a name alone could tell of another tenant's work.  Who is bound to
-- a tenant has the nodes counted that it runs itself.
-- definer: engine
-- grant: operator, reader
create function windlass.list_queues(p_tenant uuid default null)
returns table (
  name text, mode text, ready bigint, scheduled bigint, running bigint, oldest_run_at timestamptz,
  oldest_seconds double precision, waiting_nodes integer, gated boolean, created_at timestamptz,
  ageing_seconds double precision)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(p_tenant);
  v_bound uuid := windlass_data.bound_tenant();
  v_now timestamptz := windlass_data.clock();
begin
  return query
  select q.name, q.mode, coalesce(w.ready, 0)::bigint, coalesce(w.scheduled, 0)::bigint, coalesce(w.running, 0)::bigint,
         w.since, case when w.since is not null
                       then greatest(extract(epoch from v_now - w.since), 0) end::double precision,
         (select count(*)::integer from windlass_data.waiting as w
          where w.queue = q.name and (v_bound is null or exists (
            select from windlass_data.node as n where n.id = w.node_id and n.login = session_user))),
         exists (select from windlass._gates_on(v_only, q.name, null, null, v_now)),
         q.created_at, q.ageing_seconds
  from (
    select n.name, coalesce(s.mode, 'fair') as mode, s.created_at, s.ageing_seconds
    from (select s.name from windlass_data.queue as s union select l.queue from windlass_data.lane as l) as n
    left join windlass_data.queue as s on s.name = n.name
  ) as q
  cross join lateral (
    select array_agg(l.id) as ids from windlass_data.lane as l
    where l.queue = q.name and (v_only is null or l.tenant_id = v_only)
  ) as l
  cross join lateral (
    select sum(w.ready) as ready, sum(w.scheduled) as scheduled, sum(w.running) as running,
           min(windlass._head_since(w.lane_id)) filter (where w.ready > 0) as since
    from windlass._load_of(l.ids) as w
  ) as w
  where v_only is null or l.ids is not null
  order by q.name;
end
$$;
comment on function windlass.list_queues is 'Queues with their load.';
