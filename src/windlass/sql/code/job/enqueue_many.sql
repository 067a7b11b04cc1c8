-- Enqueue many jobs that differ in nothing but their payloads, all or none: the fast way in.
--
-- `p_job` has what they share, with the fields of windlass_data.new_job but for id, key and payload; the caller makes
-- the ids.  Only the places of jobs that were there already, with the same content, come back.
-- definer: owner
-- grant: producer, operator
create function windlass.enqueue_many(p_tenant uuid, p_job jsonb, p_payloads jsonb, p_ids uuid[], p_actor text default null)
returns setof integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_actor text;
  v_job windlass_data.new_job;
  v_lane integer;
begin
  if p_actor is not null then
    v_actor := windlass._act_as(p_actor);
  end if;
  perform pg_current_xact_id();  -- before the clock and the first place in line: see survey_lanes
  v_job := windlass._read_alike(p_job, p_payloads, p_ids);
  if v_job.concurrency_key is not null then
    return query
    select e.ordinal from windlass._enqueue(p_tenant, windlass._alike_jobs(v_job, p_payloads, p_ids)) as e
    where not e.created;
  elsif cardinality(p_ids) > 0 then
    v_lane := windlass._lane_of(p_tenant, coalesce(v_job.queue, 'default'), v_job.kind, coalesce(v_job.priority, 0));
    begin
      perform windlass._insert_alike(p_tenant, v_job, v_lane, p_payloads, p_ids);
      if exists (select from windlass_data.depth_limit) then
        perform windlass._check_depth(array_fill(v_lane, array[cardinality(p_ids)]));
      end if;
      perform windlass._note_work(array[v_lane]);
      perform windlass._wake(array[coalesce(v_job.queue, 'default')], cardinality(p_ids), array[v_job.kind], p_tenant);
    exception when unique_violation then
      -- An id that is taken, here or by somebody who commits just now: one by one, and only what is new is written.
      return query
      select e.ordinal from windlass._enqueue(p_tenant, windlass._alike_jobs(v_job, p_payloads, p_ids)) as e
      where not e.created;
    end;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  if p_actor is not null then
    perform set_config('windlass.actor', v_actor, true);
  end if;
end
$$;
comment on function windlass.enqueue_many is
  'Enqueue many jobs that differ in their payloads only; returns the places of those that were there already.';
