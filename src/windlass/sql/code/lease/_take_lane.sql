-- Take up to p_limit jobs out of one lane onto a fresh lease: what _take_ready does where nobody takes turns.
-- definer: none
create function windlass._take_lane(
  p_node uuid, p_lane integer, p_mark bigint, p_limit integer, p_now timestamptz, p_lease interval)
returns table (
  token uuid, tenant_id uuid, lane_id integer, job_id uuid, version integer, counted integer, seq bigint)
language plpgsql volatile rows 500
set search_path = pg_catalog, pg_temp
as $$
declare
  v_token uuid := windlass_data.new_id();
begin
  return query
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
    select t.* from taken as t order by t.seq
  ), leased as (
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
    select v_token, c.tenant_id, p_lane, p_node, p_now, p_now + p_lease, count(*), array_agg(c.job_id),
           array_agg(c.version), array_agg(c.counted)
    from claimed as c
    group by c.tenant_id
  )
  select v_token, c.tenant_id, p_lane, c.job_id, c.version, c.counted, c.seq from claimed as c;
end
$$;
comment on function windlass._take_lane is 'Take jobs out of one lane onto a fresh lease.';
