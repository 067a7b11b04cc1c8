-- Drain the nodes of this name, or the one with this id: they claim nothing new, get no new parts, hand over the
-- leadership, and leave when they are empty.  Returns their ids; WL001 if no running node is meant.
--
-- Claims that begin after this commits find nothing.  A node that starts again starts undrained.
-- definer: engine
-- grant: operator
create function windlass.drain_node(p_node text, p_reason text default null, p_actor text default null)
returns table (node_id uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  return query
  update windlass_data.node as n
  set draining_at = coalesce(n.draining_at, windlass_data.clock())
  where (n.name = p_node or n.id::text = p_node) and windlass._is_active(n.heartbeat_at, n.stopped_at)
  returning n.id;
  if not found then
    raise exception 'there is no running node %', coalesce(quote_literal(p_node), 'null') using errcode = 'WL001';
  end if;
  perform pg_notify('windlass', n.id::text)
  from windlass_data.node as n
  where n.draining_at is not null and n.stopped_at is null and (n.name = p_node or n.id::text = p_node);
  perform windlass._record(
    '00000000-0000-0000-0000-000000000000', 'node.drain', null, p_reason, p_actor, jsonb_build_object('node', p_node));
end
$$;
comment on function windlass.drain_node is 'Let nodes claim nothing new, and leave when they are empty.';
