-- Write these jobs, each under the id given for it, and put them into line.  Returns the ids that were new.
--
-- Places in line are taken in the order of the array.  An id that is there already is left alone.
-- definer: none
create function windlass._insert_jobs(p_tenant uuid, p_jobs windlass_data.new_job[], p_ids uuid[])
returns setof uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
begin
  return query
  with fresh as materialized (
    select s.*, case when s.due then nextval('windlass_data.ready_seq') end as seq
    from (
      select n.*, i.id as job_id, l.id as lane_id, n.run_at is null or n.run_at <= v_now as due
      from unnest(p_jobs) with ordinality as n
      join unnest(p_ids) with ordinality as i(id, ordinality) using (ordinality)
      join windlass_data.lane as l
        on l.tenant_id = p_tenant and l.queue = coalesce(n.queue, 'default')
       and l.kind = n.kind and l.priority = coalesce(n.priority, 0)::smallint
      order by n.ordinality
    ) as s
  ), written as (
    insert into windlass_data.job
      (tenant_id, id, lane_id, seq, max_attempts, timeout_ms, created_at, run_at, payload, retry,
       idempotency_key, trace_id, correlation_id, actor)
    select p_tenant, f.job_id, f.lane_id, f.seq, coalesce(f.max_attempts, 5), f.timeout_ms, v_now, f.run_at,
           f.payload, f.retry, f.key, f.trace_id, f.correlation_id, nullif(current_setting('windlass.actor', true), '')
    from fresh as f
    on conflict do nothing
    returning id
  ), lined_up as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select f.lane_id, f.seq, p_tenant, f.job_id, 0, 0
    from fresh as f
    join written as w on w.id = f.job_id
    where f.due
  ), put_off as (
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    select p_tenant, f.job_id, f.run_at, f.lane_id, 0, 0
    from fresh as f
    join written as w on w.id = f.job_id
    where not f.due
  )
  select w.id from written as w;
end
$$;
comment on function windlass._insert_jobs(uuid, windlass_data.new_job[], uuid[]) is 'Write jobs and put them into line.';
