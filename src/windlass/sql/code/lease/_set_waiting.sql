-- Note whether a node wants a notice of new work in these queues.  Writes only what changes.
-- definer: none
create function windlass._set_waiting(p_node uuid, p_queues text[], p_waits boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_waits then
    insert into windlass_data.waiting (queue, node_id)
    select q, p_node from unnest(p_queues) as q
    where not exists (select from windlass_data.waiting as w where w.queue = q and w.node_id = p_node)
    on conflict do nothing;
  elsif exists (select from windlass_data.waiting as w where w.queue = any (p_queues) and w.node_id = p_node) then
    delete from windlass_data.waiting as w where w.queue = any (p_queues) and w.node_id = p_node;
  end if;
end
$$;
comment on function windlass._set_waiting is 'Note whether a node wants notices of new work.';
