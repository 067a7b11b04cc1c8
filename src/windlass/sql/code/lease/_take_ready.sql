-- Take up to p_limit jobs out of line onto fresh leases, one lease per lane.
--
-- Flows (a tenant's part of a queue, or a strict queue as a whole) take turns; within a flow priority decides,
-- then the place in line.  Each flow offers twice its share, so that rows which another claim holds right now
-- do not make this one come back short.  Exactly the rows that are deleted here are leased here.
-- definer: none
create function windlass._take_ready(
  p_node uuid, p_queues text[], p_kinds text[], p_limit integer, p_now timestamptz, p_lease interval)
returns table (
  token uuid, tenant_id uuid, lane_id integer, job_id uuid, version integer, counted integer, turn bigint)
language plpgsql volatile rows 500
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lanes integer[];
  v_priorities integer[];
  v_flows text[];
  v_tokens uuid[];
  v_share integer;
begin
  select array_agg(o.lane_id), array_agg(o.priority), array_agg(o.flow), array_agg(gen_random_uuid()),
         ceil(2.0 * p_limit / greatest(count(distinct o.flow), 1))
  into v_lanes, v_priorities, v_flows, v_tokens, v_share
  from windlass._open_lanes(p_node, p_queues, p_kinds) as o
  cross join lateral (select from windlass_data.ready as r where r.lane_id = o.lane_id limit 1) as busy;

  return query
  with offered as materialized (
    select r.tid, b.token, row_number() over (partition by b.flow order by b.priority desc, r.seq) as turn,
           hashtextextended(b.flow, extract(microseconds from p_now)::bigint) as dealt
    from unnest(v_lanes, v_priorities, v_flows, v_tokens) as b(lane_id, priority, flow, token)
    cross join lateral (
      select r.ctid as tid, r.seq
      from windlass_data.ready as r
      where r.lane_id = b.lane_id
      order by r.seq
      limit v_share
    ) as r
  ), chosen as materialized (
    select r.ctid as tid, o.token, o.turn, o.dealt
    from offered as o
    join windlass_data.ready as r on r.ctid = o.tid
    order by o.turn, o.dealt
    limit p_limit
    for update of r skip locked
  ), taken as (
    delete from windlass_data.ready as r
    where r.ctid = any (array(select c.tid from chosen as c))
    returning r.ctid as tid, r.lane_id, r.seq, r.tenant_id, r.job_id, r.version, r.counted
  ), claimed as materialized (
    select c.token, t.tenant_id, t.lane_id, t.job_id, t.version + 1 as version, t.counted,
           row_number() over (order by c.turn, c.dealt) as turn
    from taken as t
    join chosen as c on c.tid = t.tid
  ), leased as (
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
    select c.token, c.tenant_id, c.lane_id, p_node, p_now, p_now + p_lease, count(*),
           array_agg(c.job_id), array_agg(c.version), array_agg(c.counted)
    from claimed as c
    group by c.token, c.tenant_id, c.lane_id
  )
  select c.* from claimed as c;
end
$$;
comment on function windlass._take_ready is 'Take jobs out of line onto fresh leases.';
