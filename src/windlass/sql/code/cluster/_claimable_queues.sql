-- The queues of these from which a node may claim now: none while it drains, and that of the cluster jobs only while it
-- leads.
-- definer: none
create function windlass._claimable_queues(p_node uuid, p_queues text[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from windlass_data.node as n where n.id = p_node and n.draining_at is not null) then
    return '{}';
  elsif 'windlass.cluster' = any (p_queues) and not exists (
    select from windlass_data.leader as l where l.node_id = p_node and l.expires_at > windlass_data.clock()
  ) then
    return array_remove(p_queues, 'windlass.cluster');
  end if;
  return p_queues;
end
$$;
comment on function windlass._claimable_queues is 'The queues from which a node may claim now.';
