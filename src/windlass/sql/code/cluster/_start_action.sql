-- Put a cluster job into line for its leader's action, and wake the leader.  The caller holds the job row.
-- definer: none
create function windlass._start_action(p_tenant uuid, p_job uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_place record;
  v_seq bigint;
  v_lane integer;
begin
  select l.version, l.counted into v_place from windlass._leave_line(p_tenant, p_job) as l;
  if v_place.version is null then
    return;
  end if;
  v_seq := nextval('windlass_data.ready_seq');
  update windlass_data.job as j
  set seq = v_seq
  where j.tenant_id = p_tenant and j.id = p_job
  returning j.lane_id into v_lane;
  insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
  values (v_lane, v_seq, p_tenant, p_job, v_place.version, v_place.counted);
  perform windlass._note_work(array[v_lane]);
  perform pg_notify('windlass', l.node_id::text) from windlass_data.leader as l where l.node_id is not null;
end
$$;
comment on function windlass._start_action is 'Put a cluster job into line for its leader''s action.';
