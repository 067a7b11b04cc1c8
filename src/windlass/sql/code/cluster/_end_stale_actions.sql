-- End the leader's actions that run at nodes which no longer lead, so that their late words change nothing and the next
-- attempt begins here.  What somebody is reporting on at this moment is passed over until the next turn.
-- definer: none
create function windlass._end_stale_actions(p_leader uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_leases uuid[];
  v_error jsonb := jsonb_build_object('type', 'LeaderLost', 'message', 'another node leads since this action began');
begin
  v_leases := array(
    select l.id
    from windlass_data.lane as la
    join windlass_data.lease as l on l.tenant_id = la.tenant_id and l.lane_id = la.id
    where la.queue = 'windlass.cluster' and l.node_id <> p_leader
    order by l.id
    for update of l skip locked);
  if cardinality(v_leases) > 0 then
    perform from windlass._end_abandoned(v_leases, v_error);
  end if;
end
$$;
comment on function windlass._end_stale_actions(uuid) is 'End the leader''s actions that run at other nodes.';
