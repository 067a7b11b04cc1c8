-- End these attempts as failed (default), timed_out or canceled.  What follows (again after a wait, or dead) is
-- decided by the job's retry policy; p_delays, in seconds, overrides its wait.  One row comes back per job.
-- definer: engine
-- grant: worker
create function windlass.fail_jobs(
  p_tokens uuid[], p_jobs uuid[], p_errors jsonb[] default null, p_outcomes text[] default null,
  p_delays double precision[] default null, p_costs bigint[] default null)
returns table (job_id uuid, code text, state text, run_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
declare
  v_outcomes windlass_data.outcome[];
begin
  perform windlass._check_words(p_tokens, p_jobs, p_errors, p_costs);
  perform windlass._check_delays(p_delays);
  if not coalesce(p_outcomes, '{}') <@ array['failed', 'timed_out', 'canceled'] then
    raise exception 'a failed attempt is failed, timed_out or canceled' using errcode = 'WL007';
  elsif cardinality(p_outcomes) <> cardinality(p_jobs) or cardinality(p_delays) <> cardinality(p_jobs) then
    raise exception 'every job needs its own outcome and delay, or none has one' using errcode = 'WL007';
  end if;
  v_outcomes := coalesce(p_outcomes, array_fill('failed'::text, array[cardinality(p_jobs)]));
  if p_costs is null then
    return query
    select e.* from windlass._end_attempts(p_tokens, p_jobs, v_outcomes, p_errors, p_delays, null) as e;
  else
    return query
    select e.* from windlass._end_with_costs(p_tokens, p_jobs, v_outcomes, p_errors, p_delays, p_costs) as e;
  end if;
end
$$;
comment on function windlass.fail_jobs is 'End attempts with a failure; the retry policy decides what follows.';
