-- Put these running jobs off by p_delays seconds.  The attempt does not count toward max_attempts.
-- definer: engine
-- grant: worker
create function windlass.snooze_jobs(
  p_tokens uuid[], p_jobs uuid[], p_delays double precision[], p_costs bigint[] default null)
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
  perform windlass._check_words(p_tokens, p_jobs, null, p_costs);
  perform windlass._check_delays(p_delays);
  if cardinality(p_delays) is distinct from cardinality(p_jobs) or array_ndims(p_delays) > 1
     or array_position(p_delays, null) is not null then
    raise exception 'every snoozed job needs its delay' using errcode = 'WL007';
  end if;
  v_outcomes := array_fill('snoozed'::windlass_data.outcome, array[cardinality(p_jobs)]);
  if p_costs is null then
    return query select e.* from windlass._end_attempts(p_tokens, p_jobs, v_outcomes, null, p_delays, null) as e;
  else
    return query select e.* from windlass._end_with_costs(p_tokens, p_jobs, v_outcomes, null, p_delays, p_costs) as e;
  end if;
end
$$;
comment on function windlass.snooze_jobs is 'Put running jobs off; the attempt does not count.';
