-- Lock and return up to p_limit jobs of one pair of tables (a day as YYYYMMDD, `rest` or `ahead`) that finished in this state
-- no later than p_before.
--
-- Passes over what somebody else holds, so it never waits; the caller looks again, under the locks, where the jobs
-- stand.  A finished job that something still names (_named_jobs) is left, however it ended.  Row security hides the
-- statistics from the planner, so it is told to walk the indexes, outside the days in their whole order.
-- definer: none
create function windlass._due_jobs(p_part text, p_state text, p_before timestamptz, p_limit integer)
returns table (tenant_id uuid, job_id uuid)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query execute format($query$
    with by_attempt as materialized (
      select a.tenant_id, a.job_id
      from windlass_data.%1$I as a
      where a.ends = %3$L and a.finished_at <= %4$L and a.tenant_id = coalesce($1, a.tenant_id)
        and (a.tenant_id, a.job_id) not in (select n.tenant_id, n.job_id from windlass._named_jobs() as n)
      %5$s
      limit $2
      for update skip locked
    ), by_hand as materialized (
      select j.tenant_id, j.id
      from windlass_data.%2$I as j
      where j.ended_state = %3$L and j.ended_at <= %4$L and j.tenant_id = coalesce($1, j.tenant_id)
        and (j.tenant_id, j.id) not in (select n.tenant_id, n.job_id from windlass._named_jobs() as n)
      %6$s
      limit $2
      for update skip locked
    )
    select a.tenant_id, a.job_id
    from by_attempt as a
    cross join lateral (
      select from windlass_data.%2$I as j where j.tenant_id = a.tenant_id and j.id = a.job_id for update skip locked
    ) as j
    union all
    select h.* from by_hand as h
    limit $2
  $query$, 'attempt_' || p_part, 'job_' || p_part, p_state, p_before,
           case when p_part in ('rest', 'ahead') then 'order by a.ends, a.finished_at' end,
           case when p_part in ('rest', 'ahead') then 'order by j.ended_state, j.ended_at' end)
  using windlass_data.bound_tenant(), p_limit;
end
$$;
comment on function windlass._due_jobs is 'Lock and return finished jobs whose keep has passed.';
