-- Take up to p_limit jobs out of one lane onto a fresh lease: what _take_turn does where nobody takes turns.  What the lease
-- says of the first of them, too: for a lone one there is no need to read it.
-- In small statements, and a lone job in still smaller ones: to set up a large one takes longer than to carry it out.
-- definer: none
create function windlass._take_lane(
  p_node uuid, p_lane integer, p_mark bigint, p_limit integer, p_lease double precision, p_begins boolean,
  out tokens uuid[], out jobs uuid[], out tenant uuid, out version integer, out tries integer, out ends timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_head record;
  v_rows tid[]; v_versions integer[]; v_counted integer[];
  v_now timestamptz;
begin
  select r.ctid as tid, r.tenant_id, r.job_id, r.version, r.counted,
         p_limit > 1 and exists (
           select from windlass_data.ready as o where o.lane_id = p_lane and o.seq > r.seq) as more
  into v_head
  from windlass_data.ready as r
  where r.lane_id = p_lane and r.seq > p_mark
  order by r.seq
  limit 1
  for update skip locked;
  if not found then
    return;
  end if;
  tokens := array[windlass_data.new_id()];
  tenant := v_head.tenant_id;
  if not v_head.more then
    jobs := array[v_head.job_id];
    version := v_head.version + 1;
    tries := v_head.counted;
    v_now := windlass_data.clock();  -- after it was seen: nothing starts before it was there
    ends := v_now + make_interval(secs => p_lease);
    delete from windlass_data.ready as r where r.ctid = v_head.tid;  -- locked: it stays where it is
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted, begins)
    values (tokens[1], tenant, p_lane, p_node, v_now, ends, 1, jobs, array[version], array[tries],
            case when p_begins then '{}'::uuid[] end);
    return;
  end if;
  select array_agg(r.ctid), array_agg(r.job_id), array_agg(r.version + 1), array_agg(r.counted)
  into v_rows, jobs, v_versions, v_counted
  from (
    select r.ctid, r.job_id, r.version, r.counted from windlass_data.ready as r
    where r.lane_id = p_lane and r.seq > p_mark
    order by r.seq
    limit p_limit
    for update skip locked
  ) as r;
  version := v_versions[1];
  tries := v_counted[1];
  v_now := windlass_data.clock();
  ends := v_now + make_interval(secs => p_lease);
  delete from windlass_data.ready as r where r.ctid = any (v_rows);
  insert into windlass_data.lease
    (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted, begins)
  values (tokens[1], tenant, p_lane, p_node, v_now, ends, cardinality(jobs), jobs, v_versions, v_counted,
          case when p_begins then '{}'::uuid[] end);
end
$$;
comment on function windlass._take_lane is 'Take jobs out of one lane onto a fresh lease.';
