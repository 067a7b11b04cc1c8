-- Queues and kinds of which jobs wait and that no active node takes, with how many wait, as _load_of counts them;
-- of all tenants or of one.  kind_known: some node knows the kind, but takes nothing from that queue.
--
-- A node that drains takes nothing more; one that a role bound to another tenant runs takes nothing of others.  Gates
-- do not count: they are somebody's will.  Cluster jobs are left out: the leader takes those.
-- definer: engine
-- grant: operator, reader
create function windlass.list_unserved(
  p_tenant uuid default null, p_queue text default null, p_kind text default null)
returns table (queue text, kind text, ready bigint, scheduled bigint, kind_known boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(p_tenant);
begin
  return query
  with active as materialized (
    select n.queues, n.kinds, array(
      select b.tenant_id from windlass_data.role_tenant as b
      join pg_roles as g on g.rolname = b.role_name
      join pg_roles as r on r.rolname = n.login and not r.rolsuper
      where pg_has_role(r.oid, g.oid, 'member')) as bound
    from windlass_data.node as n
    where windlass._is_active(n.heartbeat_at, n.stopped_at) and n.draining_at is null
  ), unserved as materialized (
    select l.id, l.queue, l.kind, exists (
      select from active as a where l.kind = any (a.kinds) and l.tenant_id = all (a.bound)) as kind_known
    from windlass_data.lane as l
    where l.queue <> 'windlass.cluster' and (v_only is null or l.tenant_id = v_only)
      and (p_queue is null or l.queue = p_queue) and (p_kind is null or l.kind = p_kind)
      and not exists (
        select from active as a
        where l.queue = any (a.queues) and l.kind = any (a.kinds) and l.tenant_id = all (a.bound))
  )
  select u.queue, u.kind, sum(w.ready)::bigint, sum(w.scheduled)::bigint, bool_or(u.kind_known)
  from windlass._load_of(array(select u.id from unserved as u)) as w
  join unserved as u on u.id = w.lane_id
  group by u.queue, u.kind
  having sum(w.ready + w.scheduled) > 0
  order by 3 desc, 4 desc, 1, 2
  limit 100;
end
$$;
comment on function windlass.list_unserved is 'Queues and kinds of which jobs wait and that no active node takes.';
