-- Give these jobs back unharmed: they are queued at once and the attempt does not count.
-- definer: engine
-- grant: worker
create function windlass.release_jobs(p_tokens uuid[], p_jobs uuid[])
returns table (job_id uuid, code text, state text, run_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
begin
  perform windlass._check_words(p_tokens, p_jobs, null, null);
  return query
  select e.* from windlass._end_attempts(
    p_tokens, p_jobs, array_fill('released'::windlass_data.outcome, array[cardinality(p_jobs)]), null, null, null) as e;
end
$$;
comment on function windlass.release_jobs is 'Give running jobs back; the attempt does not count.';
