-- Write down who did what to which job, and why, in the same transaction as the deed, which also seals it as it commits.
--
-- Longer texts than the audit keeps are cut: people's own were refused before (_check_said), a handler's error was not.
-- definer: none
create function windlass._record(
  p_tenant uuid, p_action text, p_job uuid, p_reason text, p_actor text, p_details jsonb default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event windlass_data.event;
begin
  insert into windlass_data.event as e (tenant_id, at, actor, action, job_id, reason, details)
  values (p_tenant, windlass_data.clock(), left(windlass._actor(p_actor), 200), p_action, p_job, left(p_reason, 2000),
          p_details)
  returning e.* into v_event;
  insert into windlass_data.unsealed (tenant_id, event_id, digest, at_commit)
  values (p_tenant, v_event.id, windlass_data.event_digest(v_event), true);
end
$$;
comment on function windlass._record is 'Write down who did what, and why.';
