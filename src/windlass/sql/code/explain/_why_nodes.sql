-- Whether some node takes jobs of this lane now, and if not, why none does.  p_gated: a gate holds the lane from all nodes,
-- so that it is none of theirs if they may not.  Who is bound to a tenant hears nothing of nodes that others run but that they
-- are there.
-- definer: none
create function windlass._why_nodes(p_lane windlass_data.lane, p_gated boolean)
returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_alive jsonb;
  v_fit jsonb;
  v_free jsonb;
  v_code text := (select v.sha256 from windlass_data.schema_version as v where v.name = 'code');
begin
  select jsonb_agg(n.facts), jsonb_agg(n.facts) filter (where n.fits), jsonb_agg(n.facts) filter (where n.open and not n.full)
  into v_alive, v_fit, v_free
  from (
    select n.fits, n.full, n.fits and exists (
             select from windlass._open_lanes(n.id, n.queues, n.kinds, array[p_lane.id])) as open,
           jsonb_build_object('full', n.full, 'old', n.old) || case
             when v_bound is null or n.login = session_user then jsonb_build_object(
               'node', n.name, 'queues', n.queues, 'kinds', n.kinds, 'running', n.running, 'concurrency', n.concurrency,
               'draining', n.draining_at is not null, 'version', n.version)
             else '{}' end as facts
    from (
      select n.*, l.running, l.running >= n.concurrency as full,
             p_lane.queue = any (n.queues) and p_lane.kind = any (n.kinds) as fits, n.code <> v_code as old
      from windlass_data.node as n
      cross join lateral (
        select coalesce(sum(l.open), 0) as running from windlass_data.lease as l where l.node_id = n.id) as l
      where windlass._is_active(n.heartbeat_at, n.stopped_at) and windlass._may_serve(n.login, p_lane.tenant_id)
      order by n.name
    ) as n
  ) as n;
  if v_fit @> '[{"old": true}]' then
    return next (
      'schema_mismatch', false, 'nodes that would take it were started before the functions in the database were replaced: '
        || (select string_agg(coalesce(f ->> 'node', 'one'), ', ') from jsonb_array_elements(v_fit) as f
            where f @> '{"old": true}'),
      'starting them again, with the release that the database has', null, jsonb_build_object('nodes', v_fit)
    )::windlass_data.reason;
  end if;
  if v_free is not null then
    return;
  elsif v_fit is null then
    return next (
      'no_worker', false, format('no node that is alive takes kind %s from queue %s', p_lane.kind, p_lane.queue)
        || case when v_alive is null then ': there is none' else '' end,
      'starting a worker that knows the kind and takes from the queue', null, jsonb_build_object('alive', v_alive)
    )::windlass_data.reason;
  elsif not v_fit @> '[{"full": false}]' then
    return next (
      'workers_full', false, format('all %s nodes that would take it are full', jsonb_array_length(v_fit)),
      'the end of a job there, or more workers', null, jsonb_build_object('nodes', v_fit))::windlass_data.reason;
  elsif not p_gated then
    return next (
      'workers_held', false, 'the nodes that would take it drain, are held by a gate, are full or do not lead',
      'clearing the gate on the node, or starting another worker', null, jsonb_build_object('nodes', v_fit)
    )::windlass_data.reason;
  end if;
end
$$;
comment on function windlass._why_nodes is 'Why no node takes jobs of a lane.';
