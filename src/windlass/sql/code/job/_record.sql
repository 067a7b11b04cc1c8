-- Write down who did what to which job, and why, in the same transaction as the deed.
-- definer: none
create function windlass._record(
  p_tenant uuid, p_action text, p_job uuid, p_reason text, p_actor text, p_details jsonb default null) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into windlass_data.event (tenant_id, at, actor, action, job_id, reason, details)
  values (p_tenant, windlass_data.clock(), windlass._actor(p_actor), p_action, p_job, p_reason, p_details)
$$;
comment on function windlass._record is 'Write down who did what, and why.';
