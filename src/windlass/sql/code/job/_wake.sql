-- Tell the nodes that wait for work in these queues, when this transaction commits.
--
-- A notice makes commits queue up behind one lock of the whole server, so it is sent only where a node has
-- said that it waits.
-- definer: none
create function windlass._wake(p_queues text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('windlass', w.queue)
  from (select distinct w.queue from windlass_data.waiting as w where w.queue = any (p_queues)) as w;
end
$$;
comment on function windlass._wake(text[]) is 'Wake the nodes that wait for work in these queues.';
