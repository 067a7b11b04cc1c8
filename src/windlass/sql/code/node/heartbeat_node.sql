-- A node's sign of life; the first one makes it known.  Returns whether it was active until now: false tells a node
-- that it is new, was stopped, or was silent for so long that the others took it for gone.
-- definer: owner
-- grant: worker
create function windlass.heartbeat_node(
  p_node uuid, p_name text, p_host text default '', p_pid integer default 0, p_version text default '',
  p_queues text[] default '{}', p_kinds text[] default '{}', p_concurrency integer default 0)
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_active boolean;
begin
  if p_node is null or p_name is null or length(p_name) not between 1 and 200 then
    raise exception 'a node needs an id and a name of 1 to 200 characters' using errcode = 'WL007';
  elsif p_concurrency < 0 or p_pid < 0 then
    raise exception 'neither concurrency nor pid can be negative' using errcode = 'WL007';
  end if;
  select windlass._is_active(n.heartbeat_at, n.stopped_at) into v_active
  from windlass_data.node as n where n.id = p_node for no key update;
  perform windlass._is_own_node(p_node);
  insert into windlass_data.node as n
    (id, name, host, pid, version, queues, kinds, concurrency, started_at, heartbeat_at, code)
  values (p_node, p_name, coalesce(p_host, ''), coalesce(p_pid, 0), coalesce(p_version, ''), coalesce(p_queues, '{}'),
          coalesce(p_kinds, '{}'), coalesce(p_concurrency, 0), v_now, v_now,
          coalesce((select v.sha256 from windlass_data.schema_version as v where v.name = 'code'), ''))
  on conflict (id) do update
  set name = excluded.name, host = excluded.host, pid = excluded.pid, version = excluded.version,
      queues = excluded.queues, kinds = excluded.kinds, concurrency = excluded.concurrency,
      heartbeat_at = excluded.heartbeat_at, stopped_at = null,
      started_at = case when n.stopped_at is null then n.started_at else v_now end;
  return coalesce(v_active, false);
end
$$;
comment on function windlass.heartbeat_node is 'A node''s sign of life.';
