-- Take up to p_limit jobs out of one lane onto a fresh lease: what _take_turn does where nobody takes turns.
-- In three small statements: for a lone job, to set up a large one takes longer than to carry it out.
-- definer: none
create function windlass._take_lane(
  p_node uuid, p_lane integer, p_mark bigint, p_limit integer, p_lease interval,
  out tokens uuid[], out jobs uuid[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token uuid := windlass_data.new_id();
  v_rows tid[];
  v_tenant uuid[];
  v_versions integer[];
  v_counted integer[];
  v_count integer;
  v_now timestamptz;
begin
  select array_agg(r.ctid), array_agg(r.tenant_id), array_agg(r.job_id), array_agg(r.version + 1), array_agg(r.counted),
         count(*)
  into v_rows, v_tenant, jobs, v_versions, v_counted, v_count
  from (
    select r.ctid, r.* from windlass_data.ready as r
    where r.lane_id = p_lane and r.seq > p_mark
    order by r.seq
    limit p_limit
    for update skip locked
  ) as r;
  if v_count > 0 then
    v_now := windlass_data.clock();  -- after they were seen: nothing starts before it was there
    delete from windlass_data.ready as r where r.ctid = any (v_rows);  -- locked: they stay where they are
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
    values (v_token, v_tenant[1], p_lane, p_node, v_now, v_now + p_lease, v_count, jobs, v_versions, v_counted);
    tokens := array[v_token];
  end if;
end
$$;
comment on function windlass._take_lane is 'Take jobs out of one lane onto a fresh lease.';
