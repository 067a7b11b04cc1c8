-- Give up the leader lease, if this node has it, and wake those who may take it.
-- definer: engine
create function windlass._resign(p_node uuid) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_term bigint;
begin
  update windlass_data.leader as l
  set node_id = null, expires_at = v_now
  where l.node_id = p_node
  returning l.term into v_term;
  if found then
    perform windlass._record(
      '00000000-0000-0000-0000-000000000000', 'leader.resigned', null, null, p_node::text,
      jsonb_build_object('term', v_term));
    perform pg_notify('windlass', n.id::text)
    from windlass_data.node as n
    where n.member_until > v_now and n.stopped_at is null and n.id <> p_node and n.cluster_kinds <> '{}';
  end if;
end
$$;
comment on function windlass._resign(uuid) is 'Give up the leader lease.';
