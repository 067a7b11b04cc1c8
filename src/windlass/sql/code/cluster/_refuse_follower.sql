-- Refuse whoever does not lead in this term, and name who does.  The one text of not_leader.  Who is bound to a tenant is
-- told as much as by get_leader.
-- definer: none
create function windlass._refuse_follower(p_node uuid, p_term bigint default null) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_term bigint;
  v_leader uuid;
  v_node windlass_data.node;
begin
  select l.term, case when l.expires_at > v_now then l.node_id end into v_term, v_leader from windlass_data.leader as l;
  if v_leader = p_node and v_term = coalesce(p_term, v_term) then
    return v_term;
  end if;
  select n.* into v_node from windlass_data.node as n
  where n.id = v_leader and (windlass_data.bound_tenant() is null or n.login = session_user);
  raise exception '%', case when v_leader is null then 'no node leads at the moment'
                            else format('node %s leads, in term %s', coalesce(v_node.name, v_leader::text), v_term) end
    using errcode = 'WL008', detail = jsonb_build_object(
      'leader', nullif(v_node.address, ''), 'node_id', v_leader, 'node_name', v_node.name,
      'term', case when v_leader is not null then v_term end)::text;
end
$$;
comment on function windlass._refuse_follower is 'Refuse whoever does not lead, and name who does.';
