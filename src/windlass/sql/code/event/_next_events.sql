-- The next facts of the audit below an id, before the filters: events, and the ends of jobs in these states; of one job,
-- if p_job is given, and only the events of these actions, if p_actions is.
-- definer: none
create function windlass._next_events(
  p_tenant uuid, p_job uuid, p_events boolean, p_actions text[], p_ends text[], p_before uuid, p_limit integer)
returns table (
  id uuid, at timestamptz, actor text, login text, action text, job_id uuid, reason text, details jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with ends as materialized (
    select n.id, s.state
    from unnest(p_ends) as s(state)
    cross join lateral windlass._jobs_by_id(p_tenant, s.state, null, p_before, p_limit) as n(id)
    where p_job is null
    union all
    select d.id, d.state from windlass._describe_jobs(p_tenant, array[p_job]) as d
    where d.state = any (p_ends) and d.id < p_before
    order by 1 desc
    limit p_limit
  ), facts as (
    (select e.id, e.at, e.actor, e.login::text, e.action, e.job_id, e.reason, e.details
     from windlass_data.event as e
     where p_events and p_job is null and p_actions is null and e.tenant_id = p_tenant and e.id < p_before
     order by e.id desc
     limit p_limit)
    union all
    select e.id, e.at, e.actor, e.login::text, e.action, e.job_id, e.reason, e.details
    from (select distinct a from unnest(p_actions) as a where p_events and p_job is null) as a(action)
    cross join lateral windlass._events_of(p_tenant, a.action, p_before, p_limit) as e
    union all
    (select e.id, e.at, e.actor, e.login::text, e.action, e.job_id, e.reason, e.details
     from windlass_data.event as e
     where p_events and e.tenant_id = p_tenant and e.job_id = p_job and e.id < p_before
     order by e.id desc
     limit p_limit)
    union all
    select n.id, coalesce(j.ended_at, a.finished_at),
           case when j.ended_state is not null then coalesce((
                  select e.actor from windlass_data.event as e
                  where e.tenant_id = p_tenant and e.job_id = n.id and e.action = 'job.cancel'
                  order by e.id limit 1), 'windlass')
                when a.outcome = 'crashed' then 'windlass'
                else a.node_id::text end,
           null, 'job.' || n.state, n.id,
           coalesce(j.ended_reason, case a.outcome when 'skipped' then a.result ->> 'reason' else a.error ->> 'message' end),
           jsonb_strip_nulls(jsonb_build_object(
             'attempt', a.version, 'outcome', a.outcome, 'error', a.error ->> 'type',
             'cost_cents', windlass._cost_of(p_tenant, n.id, a.version, a.cost_cents)))
    from ends as n
    cross join lateral (
      select j.ended_state, j.ended_at, j.ended_reason from windlass_data.job as j
      where j.tenant_id = p_tenant and j.id = n.id
      offset 0  -- a look-up per job, never a scan of all jobs
    ) as j
    left join lateral (
      select a.* from windlass_data.attempt as a
      where a.tenant_id = p_tenant and a.job_id = n.id and j.ended_state is null
      order by a.version desc limit 1
    ) as a on true
  )
  select f.* from facts as f order by f.id desc limit p_limit;
end
$$;
comment on function windlass._next_events is 'The next facts of the audit, before its filters.';
