-- For each job that is neither there nor has its attempt, and that one of these leases names which has run out, its token.
--
-- Pruning leaves what a lease names, so there should be none; no lease is looked through sooner, since whoever reports after a
-- transactional finish asks too.  The caller has written to `attempt`, or tried to: no day is dropped until it commits.  An
-- older snapshot would not show the jobs that outlived a day where they lie now, so it tells of none.
-- definer: none
create function windlass._gone_jobs(p_tokens uuid[]) returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_tokens uuid[] := array(
    select l.id from windlass_data.lease as l where l.id = any (p_tokens) and l.expires_at < windlass_data.clock());
  v_jobs uuid[];
  v_gone uuid[] := '{}';
  v_day record;
begin
  if v_tokens = '{}' or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    return v_gone;
  end if;
  v_jobs := array(
    select m.job_id from windlass_data.lease as l cross join lateral unnest(l.job_ids) as m(job_id) where l.id = any (v_tokens));
  for v_day in select r.first, r.last from windlass._day_ranges(v_jobs) as r loop
    v_gone := v_gone || array(
      select l.id
      from windlass_data.lease as l
      cross join lateral unnest(l.job_ids, l.versions) as m(job_id, version)
      left join lateral (
        select j.id from windlass_data.job as j
        where j.tenant_id = l.tenant_id and j.id = m.job_id and j.id between v_day.first and v_day.last
        offset 0
      ) as j on true
      left join lateral (
        select a.job_id from windlass_data.attempt as a
        where a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version
          and a.job_id between v_day.first and v_day.last
        offset 0
      ) as a on true
      where l.id = any (v_tokens) and m.job_id between v_day.first and v_day.last and j.id is null and a.job_id is null);
  end loop;
  return v_gone;
end
$$;
comment on function windlass._gone_jobs(uuid[]) is 'The tokens of jobs that leases name and that are gone.';
