-- Write these jobs, each under the id and into the lane given for it, and put them into line.  Returns the ids that
-- were new; an id that is there already is left alone.  Places in line are taken in the order of the array.  A job with a
-- concurrency key that is due is parked: the caller puts it into the line of its key.
-- definer: none
create function windlass._insert_jobs(
  p_tenant uuid, p_jobs windlass_data.new_job[], p_ids uuid[], p_lanes integer[]) returns setof uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_actor text := left(coalesce(nullif(current_setting('windlass.actor', true), ''), session_user), 200);
begin
  return query
  with fresh as materialized (
    select s.*, case when s.due and s.concurrency_key is null then nextval('windlass_data.ready_seq') end as seq
    from (
      select n.*, coalesce(n.run_at <= v_now, true) as due
      from unnest(p_ids, p_lanes, p_jobs) with ordinality
        as n(job_id, lane_id, id, kind, payload, queue, priority, run_at, max_attempts, retry, timeout_ms, key, scope,
             trace_id, correlation_id, concurrency_key, concurrency_limit, place)
      order by n.place
    ) as s
  ), written as (
    insert into windlass_data.job as j
      (tenant_id, id, lane_id, seq, max_attempts, timeout_ms, created_at, run_at, payload, retry,
       idempotency_key, trace_id, correlation_id, actor, concurrency_key, concurrency_limit)
    select p_tenant, f.job_id, f.lane_id, f.seq, coalesce(f.max_attempts, 5), f.timeout_ms, v_now, f.run_at,
           f.payload, f.retry, f.key, f.trace_id, f.correlation_id, v_actor, f.concurrency_key,
           case when f.concurrency_key is not null then coalesce(f.concurrency_limit, 1) end
    from fresh as f
    on conflict do nothing
    returning j.id, j.lane_id, j.seq,
              case when j.concurrency_key is not null and coalesce(j.run_at <= v_now, true) then 'infinity'
                   else j.run_at end as run_at
  ), lined_up as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select w.lane_id, w.seq, p_tenant, w.id, 0, 0 from written as w where w.seq is not null
  ), put_off as (
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    select p_tenant, w.id, w.run_at, w.lane_id, 0, 0 from written as w where w.seq is null
  )
  select w.id from written as w;
end
$$;
comment on function windlass._insert_jobs is 'Write jobs and put them into line.';
