-- Keep, take or give up the leader lease, and say whether this node leads and has led before this call.
--
-- A term begins when somebody finds the lease run out; the leader itself goes on in its term if nobody was there first.
-- The one row decides between two that try.  Whoever no longer stands gives up once no action of its own is running.
-- A node that stops meanwhile is not elected: both hold the node's row before the leader's.
-- definer: none
create function windlass._lead(p_node uuid, p_stand boolean, p_lease interval) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_leader windlass_data.leader;
begin
  select l.* into v_leader from windlass_data.leader as l;
  if v_leader.node_id = p_node then
    if not p_stand and not exists (
      select from windlass_data.lane as la
      join windlass_data.lease as l on l.tenant_id = la.tenant_id and l.lane_id = la.id
      where la.queue = 'windlass.cluster' and l.node_id = p_node
    ) then
      perform windlass._resign(p_node);
      return false;
    elsif v_leader.expires_at > v_now + p_lease * 2 / 3 then
      return true;
    end if;
    update windlass_data.leader as l
    set expires_at = v_now + p_lease
    where l.node_id = p_node and l.term = v_leader.term;
    return found;
  elsif p_stand and v_leader.expires_at <= v_now then
    perform from windlass_data.node as n where n.id = p_node and n.stopped_at is null for share;
    if not found then
      return false;
    end if;
    update windlass_data.leader as l
    set node_id = p_node, term = l.term + 1, since = v_now, expires_at = v_now + p_lease
    where l.term = v_leader.term and l.expires_at <= v_now;
    if found then
      perform windlass._record(
        '00000000-0000-0000-0000-000000000000', 'leader.elected', null, null, p_node::text,
        jsonb_build_object('term', v_leader.term + 1, 'before', v_leader.node_id));
    end if;
  end if;
  return false;
end
$$;
comment on function windlass._lead is 'Keep, take or give up the leader lease.';
