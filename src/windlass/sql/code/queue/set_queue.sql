-- Say how tenants share a queue: fair (they take turns) or strict (priority alone decides, whosever the job is).
-- A queue that is not there yet is made.
-- definer: engine
-- grant: operator
create function windlass.set_queue(
  p_queue text, p_mode text, p_reason text default null, p_actor text default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mode text;
begin
  perform windlass._require_unbound();
  if p_queue is null or p_queue !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$' then
    raise exception 'the queue must have 1 to 100 letters, digits or _ . : / -' using errcode = 'WL007';
  elsif p_mode is null or p_mode not in ('fair', 'strict') then
    raise exception 'the mode of a queue is fair or strict' using errcode = 'WL007';
  end if;
  insert into windlass_data.queue (name) values (p_queue) on conflict do nothing;
  select q.mode into v_mode from windlass_data.queue as q where q.name = p_queue for no key update;
  if v_mode <> p_mode then
    update windlass_data.queue as q set mode = p_mode where q.name = p_queue;
  end if;
  perform windlass._record(
    '00000000-0000-0000-0000-000000000000', 'queue.set', null, p_reason, p_actor,
    jsonb_build_object('queue', p_queue, 'mode', p_mode, 'mode_before', v_mode));
end
$$;
comment on function windlass.set_queue is 'Say how tenants share a queue.';
