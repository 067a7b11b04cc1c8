-- Give a waiting job another time (a past one: now), another priority, or both; with neither it is due now.  Returns the
-- time.
--
-- A priority alone leaves the time as it is; a job that is parked stays so, since only whoever parked it knows until when.
-- A job that stays in line as it is keeps its place; any other goes to the back of its lane.  Locks as cancel_job
-- does: the job row first, then the row in line, which decides between this and a claim.
-- definer: owner
-- grant: producer, operator
create function windlass.reschedule_job(
  p_tenant uuid, p_job uuid, p_run_at timestamptz default null, p_priority integer default null,
  p_reason text default null, p_actor text default null)
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_transaction xid8 := pg_current_xact_id();  -- before the clock: see survey_lanes
  v_now timestamptz := windlass_data.clock();
  v_keeps boolean := p_run_at is null and p_priority is not null;
  v_run_at timestamptz := greatest(p_run_at, v_now);
  v_until timestamptz := v_run_at;
  v_due boolean := p_run_at is null or p_run_at <= v_now;
  v_job windlass_data.job;
  v_from windlass_data.lane;
  v_lane integer;
  v_version integer;
  v_counted integer;
  v_state text;
begin
  perform windlass._check_said(p_reason, p_actor);
  if not windlass._is_time(p_run_at) then
    raise exception 'run_at must be a time from 1970-01-01 to 9999-12-30, 0:00 UTC' using errcode = 'WL007';
  elsif p_priority not between -32768 and 32767 then
    raise exception 'the priority must be from -32768 to 32767' using errcode = 'WL007';
  end if;
  select j.* into v_job from windlass_data.job as j
  where j.tenant_id = p_tenant and j.id = p_job for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  select l.* into v_from from windlass_data.lane as l where l.id = v_job.lane_id;
  if v_keeps then
    v_run_at := v_job.run_at;
    select s.run_at into v_until from windlass_data.scheduled as s where s.tenant_id = p_tenant and s.job_id = p_job;
    v_due := coalesce(v_until <= v_now, true);
  end if;
  if v_due and coalesce(p_priority, v_from.priority) = v_from.priority then
    -- It keeps its place, and so its row: a place in line that was seen empty stays empty (see survey_lanes).
    select r.version, r.counted into v_version, v_counted from windlass_data.ready as r
    where r.lane_id = v_job.lane_id and r.seq = v_job.seq and r.job_id = p_job
    for update;
  end if;
  if v_version is null then
    v_job.seq := null;
    select l.version, l.counted into v_version, v_counted from windlass._leave_line(p_tenant, p_job) as l;
  end if;
  if v_version is null then
    select d.state into v_state from windlass._describe_jobs(p_tenant, array[p_job]) as d;
    raise exception 'job % is % and no longer waits', p_job, v_state using errcode = 'WL004',
      hint = case v_state when 'dead' then 'Redrive it.' else 'Only a queued job can be rescheduled.' end;
  end if;

  v_lane := windlass._lane_of(p_tenant, v_from.queue, v_from.kind, coalesce(p_priority, v_from.priority));
  if v_due and v_job.seq is null then
    v_job.seq := nextval('windlass_data.ready_seq');
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    values (v_lane, v_job.seq, p_tenant, p_job, v_version, v_counted);
    perform windlass._note_work(array[v_lane]);
    perform windlass._wake(array[v_from.queue], 1, array[v_from.kind], p_tenant);
  elsif not v_due then
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    values (p_tenant, p_job, v_until, v_lane, v_version, v_counted);
  end if;
  update windlass_data.job as j set lane_id = v_lane, seq = v_job.seq, run_at = v_run_at
  where j.tenant_id = p_tenant and j.id = p_job;
  v_run_at := coalesce(nullif(case when not v_due then v_until end, 'infinity'), v_run_at, v_job.created_at);
  if v_job.concurrency_key is not null then
    perform windlass._rejoin_key_line(p_tenant, p_job);
  end if;
  perform windlass._record(p_tenant, 'job.reschedule', p_job, p_reason, p_actor, jsonb_build_object(
    'version', v_version, 'run_at', v_run_at, 'priority', coalesce(p_priority, v_from.priority),
    'priority_before', v_from.priority));
  perform set_config('windlass.tenant_id', v_before, true);
  return v_run_at;
end
$$;
comment on function windlass.reschedule_job is 'Give a waiting job another time or priority.';
