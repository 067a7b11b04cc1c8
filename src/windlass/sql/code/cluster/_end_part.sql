-- End the running attempt of one part: the one place that decides between done, again and failed.  Returns the state that
-- the part then has; null if it was not running.
--
-- The caller holds the job row, so that the parts of a job are counted one after the other.
-- definer: none
create function windlass._end_part(
  p_tenant uuid, p_job uuid, p_node uuid, p_outcome text, p_result jsonb, p_error jsonb, p_delay double precision)
returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_part record;
  v_counted integer;
  v_state text;
begin
  select p.version, p.counted, p.node_name, c.on_crash, c.part_max_attempts, c.part_retry, c.ended_at into v_part
  from windlass_data.cluster_part as p
  join windlass_data.cluster_job as c on c.tenant_id = p.tenant_id and c.job_id = p.job_id
  where p.tenant_id = p_tenant and p.job_id = p_job and p.node_id = p_node and p.state = 'running'
  for no key update of p;
  if not found then
    return null;
  end if;
  v_counted := v_part.counted + case when p_outcome in ('snoozed', 'released') then 0 else 1 end;
  v_state := case
    when p_outcome in ('succeeded', 'skipped', 'canceled') then p_outcome
    when p_outcome in ('failed', 'timed_out', 'crashed')
         and (v_counted >= v_part.part_max_attempts or v_part.ended_at is not null
              or p_outcome = 'crashed' and v_part.on_crash = 'fail') then 'failed'
    when v_part.ended_at is not null then 'canceled'
    else 'queued' end;
  update windlass_data.cluster_part as p
  set state = v_state, counted = v_counted, result = p_result, error = coalesce(p_error, p.error), expires_at = null,
      token = case when v_state <> 'queued' then p.token end,
      finished_at = case when v_state <> 'queued' then v_now end,
      run_at = v_now + make_interval(secs => coalesce(p_delay, case when p_outcome in ('failed', 'timed_out')
        then windlass._retry_delay(v_part.part_retry, v_counted, random()) else 0 end))
  where p.tenant_id = p_tenant and p.job_id = p_job and p.node_id = p_node;
  perform windlass._record(
    p_tenant, 'part.' || p_outcome, p_job, p_error ->> 'message', p_node::text,
    jsonb_build_object('node', v_part.node_name, 'part_attempt', v_part.version, 'part', v_state));
  perform windlass._settle_cluster_job(p_tenant, p_job);
  return v_state;
end
$$;
comment on function windlass._end_part is 'End the running attempt of one part.';
