-- Write jobs of one lane that differ in their ids and payloads only, and put them into line in the order given.
--
-- Without `on conflict`, which costs as much again: an id that is taken raises unique_violation.
-- definer: none
create function windlass._insert_alike(
  p_tenant uuid, p_job windlass_data.new_job, p_lane integer, p_payloads jsonb, p_ids uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_actor text := left(coalesce(nullif(current_setting('windlass.actor', true), ''), session_user), 200);
  v_due boolean := coalesce(p_job.run_at <= v_now, true);
begin
  with fresh as materialized (
    select n.id, n.payload, case when v_due then nextval('windlass_data.ready_seq') end as seq
    from rows from (unnest(p_ids), jsonb_array_elements(p_payloads)) as n(id, payload)
  ), written as (
    insert into windlass_data.job
      (tenant_id, id, lane_id, seq, max_attempts, timeout_ms, created_at, run_at, payload, retry, trace_id,
       correlation_id, actor)
    select p_tenant, f.id, p_lane, f.seq, coalesce(p_job.max_attempts, 5), p_job.timeout_ms, v_now, p_job.run_at,
           f.payload, p_job.retry, p_job.trace_id, p_job.correlation_id, v_actor
    from fresh as f
  ), put_off as (
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    select p_tenant, f.id, p_job.run_at, p_lane, 0, 0 from fresh as f where not v_due
  )
  insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
  select p_lane, f.seq, p_tenant, f.id, 0, 0 from fresh as f where v_due;
end
$$;
comment on function windlass._insert_alike is 'Write jobs of one lane and put them into line.';
