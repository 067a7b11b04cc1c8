-- The latest attempts of a job below a number: those that ended, and the running one, which only its lease knows.  What
-- one cost is what was reported while it ran and with its outcome; null if nothing was.
-- definer: none
create function windlass._attempts_of(p_tenant uuid, p_job uuid, p_before integer, p_limit integer)
returns table (
  job_id uuid, number integer, counted integer, node_id uuid, started_at timestamptz, finished_at timestamptz,
  outcome text, ends text, cost_cents bigint, result jsonb, error jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
begin
  return query
  with ended as materialized (
    select a.job_id, a.version, a.counted, a.node_id, a.started_at, a.finished_at, a.outcome::text, a.ends::text,
           windlass._cost_of(p_tenant, p_job, a.version, a.cost_cents), a.result, a.error
    from windlass_data.attempt as a
    where a.tenant_id = p_tenant and a.job_id = p_job and a.version < p_before
    order by a.version desc
    limit p_limit
  )
  select e.* from ended as e
  union all
  select m.job_id, m.version, m.counted + 1, le.node_id, le.claimed_at, null, null, null,
         windlass._cost_of(p_tenant, p_job, m.version, null), null, null
  from windlass_data.job as j
  join windlass_data.lease as le on le.lane_id = j.lane_id and le.tenant_id = j.tenant_id
  cross join lateral unnest(le.job_ids, le.versions, le.counted) as m(job_id, version, counted)
  where j.tenant_id = p_tenant and j.id = p_job and p_job = any (le.job_ids) and m.job_id = p_job
    and m.version < p_before
    and m.version > coalesce((
      select max(a.version) from windlass_data.attempt as a where a.tenant_id = p_tenant and a.job_id = p_job), 0)
  order by 2 desc
  limit p_limit;
end
$$;
comment on function windlass._attempts_of is 'The latest attempts of a job.';
