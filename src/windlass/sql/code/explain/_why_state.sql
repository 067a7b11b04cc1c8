-- What a job's own state says of why it is not running now: it ended, it runs, its time has not come, or others with its
-- key have their turn.
-- definer: none
create function windlass._why_state(p_job windlass_data.job, p_now timestamptz)
returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_seen record;
  v_key windlass_data.key_line;
  v_wait timestamptz;
begin
  select d.* into v_seen from windlass._describe_jobs(p_job.tenant_id, array[p_job.id]) as d;
  if v_seen.state = 'running' then
    return query select * from windlass._why_running(p_job, v_seen.lease_expires_at, p_now);
  elsif v_seen.state <> 'queued' then
    return next (
      v_seen.state, true,
      format('it is %s since %s', v_seen.state, windlass._shown_time(v_seen.finished_at))
        || coalesce(': ' || v_seen.ended_reason, '')
        || case when v_seen.state = 'dead' and v_seen.error is not null then format(
             ', after %s of %s attempts; the last: %s: %s', v_seen.counted, v_seen.max_attempts, v_seen.error ->> 'type',
             left(v_seen.error ->> 'message', 200)) else '' end,
      case v_seen.state when 'dead' then 'redrive it' end, null, jsonb_build_object('finished_at', v_seen.finished_at)
    )::windlass_data.reason;
  else
    select s.run_at into v_wait from windlass_data.scheduled as s
    where s.tenant_id = p_job.tenant_id and s.job_id = p_job.id and s.run_at > p_now and isfinite(s.run_at);
    if v_wait is not null and v_seen.counted > 0 then
      return next (
        'retry_wait', true, format('attempt %s of %s failed (%s: %s), and the next comes at %s', v_seen.counted,
          v_seen.max_attempts, v_seen.error ->> 'type', left(v_seen.error ->> 'message', 200),
          windlass._shown_time(v_wait)),
        'time, or rescheduling it', v_wait,
        jsonb_build_object('counted', v_seen.counted, 'max_attempts', v_seen.max_attempts, 'error', v_seen.error -> 'type')
      )::windlass_data.reason;
    elsif v_wait is not null then
      return next ('not_due', true, format('it is not to run before %s', windlass._shown_time(v_wait)),
                   'time, or rescheduling it', v_wait,
                   jsonb_build_object('run_at', v_wait))::windlass_data.reason;
    end if;
    return query select * from windlass._why_parts(p_job);
    select k.* into v_key from windlass_data.key_line as k where k.tenant_id = p_job.tenant_id and k.job_id = p_job.id;
    if v_key.place is not null and not v_key.held
       and not exists (select from windlass._next_at_key(v_key.tenant_id, v_key.kind, v_key.key) as n
                       where n.job_id = p_job.id) then
      return query select * from windlass._why_key(v_key);
    end if;
  end if;
end
$$;
comment on function windlass._why_state is 'What a job''s own state says of why it is not running.';
