-- Revive dead jobs, those named or those that pass the filters, oldest first; with p_dry_run only say which.  p_everything:
-- without any filter, so that one which is null by mistake revives nothing.
--
-- A job named that is not dead stops the whole call.  Of two redrives at once the second waits for the first and
-- then finds the jobs no longer dead.  Locks the jobs, then their last attempts, each in the order of their ids.
-- definer: owner
-- grant: operator
create function windlass.redrive_jobs(
  p_tenant uuid, p_jobs uuid[] default null, p_kinds text[] default null, p_queues text[] default null,
  p_error_like text default null, p_finished_from timestamptz default null, p_finished_to timestamptz default null,
  p_limit integer default 1000, p_dry_run boolean default false, p_max_attempts integer default null,
  p_reason text default null, p_actor text default null, p_everything boolean default false)
returns table (job_id uuid, kind text, queue text, finished_at timestamptz, error jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_ids uuid[] := p_jobs;
  v_filter windlass_data.redrive;
begin
  perform windlass._check_said(p_reason, p_actor);
  if p_limit is null or p_limit not between 1 and 10000 then
    raise exception 'a redrive takes 1 to 10000 jobs' using errcode = 'WL007';
  elsif cardinality(p_jobs) > p_limit then
    raise exception '% jobs are named, and the limit is %', cardinality(p_jobs), p_limit using errcode = 'WL007';
  elsif p_jobs is not null and num_nonnulls(p_kinds, p_queues, p_error_like, p_finished_from, p_finished_to) > 0 then
    raise exception 'jobs are redriven by name or by filter, not by both' using errcode = 'WL007';
  elsif p_everything is null or (p_everything or not p_dry_run) and p_everything = (
      num_nonnulls(p_jobs, p_kinds, p_queues, p_error_like, p_finished_from, p_finished_to) > 0) then
    raise exception 'a redrive is of jobs by name, by a filter, or of everything' using errcode = 'WL007';
  elsif p_max_attempts not between 1 and 32767 then
    raise exception 'max_attempts must be from 1 to 32767' using errcode = 'WL007';
  elsif length(p_error_like) not between 1 and 200 then
    raise exception 'a pattern for the error has 1 to 200 characters' using errcode = 'WL007';
  elsif p_error_like ~ '(^|[^\\])(\\\\)*\\$' then
    raise exception 'the pattern for the error ends in an escape' using errcode = 'WL007';
  end if;
  perform windlass._hold_days();
  if p_jobs is null then
    v_filter.kinds := p_kinds;
    v_filter.queues := p_queues;
    v_filter.error_like := p_error_like;
    v_filter.died_from := p_finished_from;
    v_filter.died_to := p_finished_to;
    v_filter.created_at := 'infinity';
    v_ids := windlass._dead_jobs(v_filter, p_limit);
  end if;
  if not p_dry_run then
    perform windlass._lock_dead_jobs(p_tenant, v_ids);
    if p_jobs is null then  -- what died meanwhile of something else is not what was asked for
      v_filter.jobs := v_ids;
      v_ids := windlass._dead_jobs(v_filter, p_limit);
    end if;
  end if;
  perform windlass._check_dead(p_tenant, p_jobs);
  v_ids := windlass._retake_keys(p_tenant, v_ids, p_jobs is not null, p_dry_run);

  return query
  select a.job_id, l.kind, l.queue, a.finished_at, a.error
  from windlass_data.attempt as a
  join windlass_data.job as j on j.tenant_id = a.tenant_id and j.id = a.job_id
  join windlass_data.lane as l on l.id = j.lane_id
  where a.tenant_id = p_tenant and a.job_id = any (v_ids) and j.id = any (v_ids) and a.ends = 'dead'
  order by a.job_id;
  if not p_dry_run then
    perform windlass._revive_jobs(p_tenant, v_ids, p_max_attempts, p_reason, p_actor);
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.redrive_jobs is 'Revive dead jobs, by name or by filter.';
