-- A node says that it has stopped: it is active no longer, wants no notices, and hands the leadership over if it had it.
-- Returns whether it was known.
--
-- Its leases are not touched: the node releases them itself, or they expire.  A role bound to a tenant stops its own
-- nodes only.
-- definer: owner
-- grant: worker
create function windlass.stop_node(p_node uuid) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known boolean;
begin
  if windlass_data.bound_tenant() is not null
     and not exists (select from windlass_data.node as n where n.id = p_node and n.login = session_user) then
    return false;
  end if;
  delete from windlass_data.waiting as w where w.node_id = p_node;
  update windlass_data.node as n
  set stopped_at = coalesce(n.stopped_at, windlass_data.clock())
  where n.id = p_node;
  v_known := found;
  perform windlass._resign(p_node);  -- behind the node's row: an election that was under way is seen then
  return v_known;
end
$$;
comment on function windlass.stop_node(uuid) is 'A node says that it has stopped.';
