-- Cancel a job.  A waiting job is canceled at once; a running one is asked to stop and ends canceled unless it succeeds
-- first.  Returns the state after the call.
--
-- Its worker hears of it with the next renewal, which a notice brings about when this commits.  The notice names the node
-- and nothing else, since anybody may listen; a transaction with windlass.quiet sends none, so that it can be prepared.
--
-- The row in line decides between this and a claim.  The job row is locked first, which keeps every other move out
-- (a promotion passes over it, a failed attempt waits for it); a claim and a success may still overtake.
-- definer: owner
-- grant: producer, operator
create function windlass.cancel_job(p_tenant uuid, p_job uuid, p_reason text default null, p_actor text default null)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_now timestamptz;
  v_state text;
  v_node uuid;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_job for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  v_now := windlass_data.clock();  -- after whatever was waited for
  if windlass._leave_line(p_tenant, p_job) is not null then
    update windlass_data.job as j
    set ended_state = 'canceled', ended_at = v_now, ended_reason = p_reason
    where j.tenant_id = p_tenant and j.id = p_job;
    v_state := 'canceled';
    perform windlass._leave_key_lines(array[p_job]);
  else
    select d.state, d.node_id into v_state, v_node from windlass._describe_jobs(p_tenant, array[p_job]) as d;
    if v_state = 'running' then
      insert into windlass_data.cancel_request (tenant_id, job_id, requested_at, actor, reason)
      values (p_tenant, p_job, v_now, windlass._actor(p_actor), p_reason)
      on conflict do nothing;
      if found and v_node is not null and current_setting('windlass.quiet', true) is distinct from 'on' then
        perform pg_notify('windlass', 'renew ' || v_node);
      end if;
    elsif v_state <> 'canceled' then
      raise exception 'job % is %, so there is nothing to cancel', p_job, v_state using errcode = 'WL004';
    end if;
  end if;
  perform windlass._record(p_tenant, 'job.cancel', p_job, p_reason, p_actor, jsonb_build_object('state', v_state));
  perform set_config('windlass.tenant_id', v_before, true);
  return v_state;
end
$$;
comment on function windlass.cancel_job is 'Cancel a waiting job at once, or ask a running one to stop.';
