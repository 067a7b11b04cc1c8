-- Drop the tables of a day, after moving the few jobs that must outlive it.  Returns `dropped`; or `many`: more than
-- p_limit jobs, or four times as many attempts, outlive it, too much to move while everybody waits; `keys`: only
-- idempotency keys were given up, ask again; `busy`: a lock was not free, ask another time.
--
-- Whoever moves a job holds `job` or `attempt` until it commits.  So once both are locked here nobody is under way,
-- the look that follows sees where each job stands, and those who wait find the jobs moved: none falls in between.
-- Waits for each lock 50 ms at most, because everybody else waits behind it; a wait in vain undoes everything.
-- A long day (_close_ahead) goes under the name of its last one, with all the days in it.
-- definer: owner
create function windlass._drop_day(p_day date, p_before jsonb, p_limit integer) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '50ms'
as $$
declare
  v_job text := to_char(p_day, '"job_"YYYYMMDD');
  v_attempt text := to_char(p_day, '"attempt_"YYYYMMDD');
  v_first date := windlass._first_day(p_day);
  v_tenants uuid[];
  v_jobs uuid[];
begin
  -- The end of the table has no block ranges yet if it was never vacuumed, and would be read for every look.
  perform brin_summarize_new_values(i.indexrelid::regclass)
  from pg_index as i
  join pg_inherits as h on h.inhrelid = i.indexrelid and h.inhparent = 'windlass_data.attempt_finished_at'::regclass
  where i.indrelid = ('windlass_data.' || v_attempt)::regclass;
  select array_agg(k.tenant_id), array_agg(k.job_id) into v_tenants, v_jobs
  from windlass._kept_jobs(p_day, p_before, p_limit + 1) as k;
  if cardinality(v_jobs) > p_limit
     or windlass._kept_attempts(p_day, v_tenants, v_jobs, 4 * p_limit + 1) > 4 * p_limit then
    return 'many';
  elsif windlass._free_keys(p_day, p_before, v_tenants, v_jobs, p_limit) > 0 then
    return 'keys';
  end if;

  lock table only windlass_data.job, only windlass_data.attempt in access exclusive mode;
  select array_agg(k.tenant_id), array_agg(k.job_id) into v_tenants, v_jobs
  from (select distinct k.* from windlass._kept_jobs(p_day, p_before, null) as k) as k;
  execute format('alter table windlass_data.job detach partition windlass_data.%I', v_job);
  execute format('alter table windlass_data.attempt detach partition windlass_data.%I', v_attempt);
  perform windlass._widen_rest(windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC'));
  perform windlass._move_kept(p_day, v_tenants, v_jobs);
  execute format('drop table windlass_data.%I, windlass_data.%I', v_job, v_attempt);
  insert into windlass_data.dropped_day (day)
  select v_first + n from generate_series(0, p_day - v_first) as n on conflict do nothing;
  return 'dropped';
exception
  when lock_not_available or deadlock_detected then
    return 'busy';
end
$$;
comment on function windlass._drop_day is 'Drop the tables of a day, after moving the jobs that outlive it.';
