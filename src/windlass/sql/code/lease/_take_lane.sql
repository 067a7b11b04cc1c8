-- Take up to p_limit jobs out of one lane onto a fresh lease: what _take_turn does where nobody takes turns.
-- definer: none
create function windlass._take_lane(
  p_node uuid, p_lane integer, p_mark bigint, p_limit integer, p_now timestamptz, p_lease interval,
  out tokens uuid[], out tenants uuid[], out lanes integer[], out jobs uuid[], out versions integer[],
  out counted integer[], out seqs bigint[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token uuid := windlass_data.new_id();
begin
  with taken as (
    delete from windlass_data.ready as r
    where r.ctid = any (array(
      select r.ctid from windlass_data.ready as r
      where r.lane_id = p_lane and r.seq > p_mark
      order by r.seq
      limit p_limit
      for update skip locked))
    returning r.tenant_id, r.job_id, r.version + 1 as version, r.counted, r.seq
  ), claimed as materialized (
    select array_agg(t.tenant_id) as tenants, array_agg(t.job_id) as jobs, array_agg(t.version) as versions,
           array_agg(t.counted) as counted, array_agg(t.seq) as seqs, count(*)::integer as n
    from (select t.* from taken as t order by t.seq) as t
  ), leased as (
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
    select v_token, c.tenants[1], p_lane, p_node, p_now, p_now + p_lease, c.n, c.jobs, c.versions, c.counted
    from claimed as c
    where c.n > 0
  )
  select array_fill(v_token, array[c.n]), c.tenants, array_fill(p_lane, array[c.n]), c.jobs, c.versions, c.counted, c.seqs
  into tokens, tenants, lanes, jobs, versions, counted, seqs
  from claimed as c;
end
$$;
comment on function windlass._take_lane is 'Take jobs out of one lane onto a fresh lease.';
