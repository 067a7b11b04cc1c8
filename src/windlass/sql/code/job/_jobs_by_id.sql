-- The next jobs of one source, newest first, below an id.
--
-- A source is a state whose rows lie together somewhere (running jobs in the leases, the rarer ends in their
-- indexes, success among the attempts), the jobs of one correlation, or all jobs.  Each is read in the order of an
-- index whatever the statistics say: a plan that sorts would read all of it first.
-- definer: none
create function windlass._jobs_by_id(
  p_tenant uuid, p_source text, p_correlation_id text, p_before uuid, p_limit integer)
returns setof uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  case p_source
    when 'all' then
      return query
      select j.id from windlass_data.job as j
      where j.tenant_id = p_tenant and j.id < p_before
      order by j.id desc limit p_limit;
    when 'correlated' then
      return query
      select j.id from windlass_data.job as j
      where j.tenant_id = p_tenant and j.correlation_id = p_correlation_id and j.id < p_before
      order by j.id desc limit p_limit;
    when 'succeeded' then
      return query
      select a.job_id from windlass_data.attempt as a
      where a.tenant_id = p_tenant and a.job_id < p_before and a.ends = 'succeeded'
      order by a.job_id desc limit p_limit;
    when 'dead', 'canceled', 'skipped' then
      return query
      select e from windlass._ended_jobs(p_source::windlass_data.job_state, p_before, p_limit) as e;
    when 'running' then
      return query
      select m.job_id
      from windlass_data.lane as l
      join windlass_data.lease as le on le.tenant_id = p_tenant and le.lane_id = l.id
      cross join lateral unnest(le.job_ids, le.versions) as m(job_id, version)
      where l.tenant_id = p_tenant and m.job_id < p_before
        and not exists (
          select from windlass_data.attempt as a
          where a.tenant_id = p_tenant and a.job_id = m.job_id and a.version = m.version)
      order by m.job_id desc limit p_limit;
    else
      null;  -- blocked: no job is, yet
  end case;
end
$$;
comment on function windlass._jobs_by_id is 'The next jobs of one source, newest first.';
