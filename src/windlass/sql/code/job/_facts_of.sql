-- Every fact about one job, in no order; rank orders those of one moment.  No row: there is no such job.
-- definer: none
create function windlass._facts_of(p_tenant uuid, p_job uuid, p_limit integer)
returns table (
  at timestamptz, what text, actor text, attempt integer, reason text, details jsonb, rank integer, node_id uuid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
begin
  return query
  with job as materialized (
    select j.created_at, j.actor, j.run_at from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_job
  ), attempts as materialized (
    select t.* from windlass._attempts_of(p_tenant, p_job, 2147483647, p_limit) as t
  ), events as materialized (
    select e.*, row_number() over (partition by e.action, e.details ->> 'state' order by e.at, e.id) as nth
    from (
      select e.* from windlass_data.event as e
      where e.tenant_id = p_tenant and e.job_id = p_job
      order by e.id desc
      limit p_limit
    ) as e
    where exists (select from job)
  )
  select j.created_at, 'enqueued', j.actor, 0, null, null::jsonb, 0, null::uuid
  from job as j
  union all
  select t.started_at, 'claimed', t.node_id::text, t.number, null, null, 1, t.node_id
  from attempts as t
  union all
  select t.finished_at, t.outcome, case when t.outcome = 'crashed' or t.error ? 'begun' then 'windlass' else t.node_id::text end,
         t.number,
         case t.outcome when 'skipped' then t.result ->> 'reason' else t.error ->> 'message' end,
         jsonb_build_object('error', t.error ->> 'type', 'cost_cents', t.cost_cents), 2,
         case when t.outcome <> 'crashed' then t.node_id end
  from attempts as t
  where t.outcome is not null
  union all
  -- What an attempt did to the job, where its outcome does not say so.  A death has an event, which outlasts a redrive.
  select t.finished_at, t.ends, 'windlass', t.number, null, null, 3, null
  from attempts as t
  where t.ends <> t.outcome and t.ends <> 'dead'
  union all
  select e.at, 'dead', 'windlass', (e.details ->> 'attempt')::integer, null, null, 3, null
  from events as e
  where e.action = 'job.dead'
  union all
  select e.at,
         case when e.action = 'job.redrive' then 'redriven'
              when e.action = 'job.reschedule' then 'rescheduled'
              when e.action = 'job.cancel' and e.details ->> 'state' = 'canceled' and e.nth = 1 then 'canceled'
              when e.action = 'job.cancel' then 'cancel requested'
              else e.action end,
         e.actor, (e.details ->> 'version')::integer, e.reason, e.details - 'version' - 'state', 4, null
  from events as e
  where e.action <> 'job.dead';
end
$$;
comment on function windlass._facts_of is 'Every fact about one job.';
