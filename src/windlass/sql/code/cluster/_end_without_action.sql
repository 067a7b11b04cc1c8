-- End a cluster job as dead because its quorum did not come about.  The caller holds the job row.
--
-- The end is an attempt like any other, so that the job is listed, kept and redriven as every dead one is; a redrive
-- runs the leader's action with the parts as they are.
-- definer: none
create function windlass._end_without_action(p_tenant uuid, p_job uuid, p_why text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock: see seal_attempts
  v_now timestamptz := windlass_data.clock();
  v_place record;
  v_node uuid;
  v_error jsonb;
begin
  select l.version, l.counted into v_place from windlass._leave_line(p_tenant, p_job) as l;
  if v_place.version is not null then
    insert into windlass_data.attempt
      (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends, error)
    select p_tenant, p_job, v_place.version + 1, v_place.counted + 1,
           coalesce(l.node_id, '00000000-0000-0000-0000-000000000000'), windlass_data.new_id(), v_now, v_now,
           'failed', 'dead', jsonb_build_object('type', 'NoQuorum', 'message', p_why)
    from windlass_data.leader as l
    returning node_id, error into v_node, v_error;
    insert into windlass_data.unsealed (tenant_id, event_id, digest)
    select d.tenant_id, d.event_id, d.digest
    from windlass._note_dead(p_tenant, p_job, v_place.version + 1, v_node, 'failed', v_error, null, v_now) as d;
  end if;
end
$$;
comment on function windlass._end_without_action is 'End a cluster job as dead because its quorum did not come about.';
