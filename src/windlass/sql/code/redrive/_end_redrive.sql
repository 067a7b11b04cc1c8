-- End a redrive, with the reason if it was stopped, and record how far it came.  The caller holds its row.
-- definer: none
create function windlass._end_redrive(p_tenant uuid, p_id uuid, p_stop_reason text, p_reason text, p_actor text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row windlass_data.redrive;
begin
  update windlass_data.redrive as r
  set outcome = case when p_stop_reason is null then 'done' else 'stopped' end, stop_reason = p_stop_reason,
      ended_at = windlass_data.clock()
  where r.tenant_id = p_tenant and r.id = p_id
  returning r.* into v_row;
  perform windlass._record(
    p_tenant, case when p_stop_reason is null then 'redrive.end' else 'redrive.stop' end, p_id,
    coalesce(p_reason, p_stop_reason), p_actor, jsonb_build_object(
      'matched', v_row.matched, 'redriven', v_row.redriven, 'refused', v_row.refused, 'passed', v_row.passed,
      'ended', v_row.ended, 'died', v_row.died));
end
$$;
comment on function windlass._end_redrive is 'End a redrive, and record how far it came.';
