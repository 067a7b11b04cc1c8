-- Nodes, the active ones first, with the jobs that each is running; nodes that stopped on request only if asked for.
--
-- A role bound to a tenant sees the nodes that it runs itself: hosts, queues and kinds of others are not its business.
-- definer: engine
-- grant: operator, reader
create function windlass.list_nodes(p_stopped boolean default false)
returns table (
  id uuid, name text, host text, pid integer, version text, queues text[], kinds text[], concurrency integer,
  started_at timestamptz, heartbeat_at timestamptz, stopped_at timestamptz, active boolean, running bigint,
  address text, member boolean, leads boolean, draining boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(null);
  v_now timestamptz := windlass_data.clock();
begin
  return query
  select n.id, n.name, n.host, n.pid, n.version, n.queues, n.kinds, n.concurrency, n.started_at, n.heartbeat_at,
         n.stopped_at, a.active, coalesce(l.running, 0), nullif(n.address, ''),
         (n.stopped_at is null and n.member_until > v_now and n.cluster_kinds <> '{}') is true,
         exists (select from windlass_data.leader as e where e.node_id = n.id and e.expires_at > v_now),
         n.stopped_at is null and n.draining_at is not null
  from windlass_data.node as n
  cross join lateral windlass._is_active(n.heartbeat_at, n.stopped_at) as a(active)
  left join (
    select l.node_id, sum(l.open)::bigint as running from windlass_data.lease as l
    where v_only is null or l.tenant_id = v_only
    group by l.node_id
  ) as l on l.node_id = n.id
  where (p_stopped or n.stopped_at is null) and (v_only is null or n.login = session_user)
  order by a.active desc, n.name, n.id;
end
$$;
comment on function windlass.list_nodes is 'Nodes, with the jobs that each is running.';
