-- Say how tenants share a queue: fair (they take turns) or strict (priority alone decides, whosever the job is).
-- With p_ageing_seconds, a lane's priority rises by one each time that its first job has waited so long (0: never), so
-- that low priorities have their turn too.  What is null stays as it is.  A queue that is not there yet is made.
-- definer: engine
-- grant: operator
create function windlass.set_queue(
  p_queue text, p_mode text default null, p_reason text default null, p_actor text default null,
  p_ageing_seconds double precision default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before windlass_data.queue;
  v_after windlass_data.queue;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  if p_queue is null or p_queue !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$' then
    raise exception 'the queue must have 1 to 100 letters, digits or _ . : / -' using errcode = 'WL007';
  elsif p_mode not in ('fair', 'strict') then
    raise exception 'the mode of a queue is fair or strict' using errcode = 'WL007';
  elsif not p_ageing_seconds between 0 and 31536000 then
    raise exception 'ageing takes from 0 (never) to 31536000 seconds' using errcode = 'WL007';
  elsif p_mode is null and p_ageing_seconds is null then
    raise exception 'a queue needs a mode or an ageing' using errcode = 'WL007';
  end if;
  insert into windlass_data.queue (name) values (p_queue) on conflict do nothing;
  select q.* into v_before from windlass_data.queue as q where q.name = p_queue for no key update;
  v_after := v_before;
  v_after.mode := coalesce(p_mode, v_before.mode);
  v_after.ageing_seconds := case when p_ageing_seconds is null then v_before.ageing_seconds
                                 else nullif(p_ageing_seconds, 0) end;
  if v_after is distinct from v_before then
    update windlass_data.queue as q set mode = v_after.mode, ageing_seconds = v_after.ageing_seconds
    where q.name = p_queue;
  end if;
  perform windlass._record(
    '00000000-0000-0000-0000-000000000000', 'queue.set', null, p_reason, p_actor, jsonb_strip_nulls(jsonb_build_object(
      'queue', p_queue, 'mode', v_after.mode, 'mode_before', v_before.mode, 'ageing_seconds', v_after.ageing_seconds,
      'ageing_seconds_before', v_before.ageing_seconds)));
end
$$;
comment on function windlass.set_queue is 'Say how tenants share a queue.';
