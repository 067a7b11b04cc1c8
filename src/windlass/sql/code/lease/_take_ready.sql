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
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  with busy as materialized (
    select o.* from windlass._open_lanes(p_node, p_queues, p_kinds) as o
    where exists (select from windlass_data.ready as r where r.lane_id = o.lane_id)
  ), share as materialized (
    select ceil(2.0 * p_limit / greatest(count(distinct b.flow), 1))::integer + 1 as size from busy as b
  ), offered as materialized (
    select r.tid, row_number() over (partition by b.flow order by b.priority desc, r.seq) as turn,
           hashtext(b.flow || p_now::text) as dealt
    from busy as b
    cross join lateral (
      select r.ctid as tid, r.seq
      from windlass_data.ready as r
      where r.lane_id = b.lane_id
      order by r.seq
      limit (select s.size from share as s)
    ) as r
  ), chosen as materialized (
    select r.ctid as tid, r.seq, o.turn, o.dealt
    from offered as o
    join windlass_data.ready as r on r.ctid = o.tid
    order by o.turn, o.dealt
    limit p_limit
    for update of r skip locked
  ), taken as (
    delete from windlass_data.ready as r
    where r.ctid = any (array(select c.tid from chosen as c))
    returning r.lane_id, r.seq, r.tenant_id, r.job_id, r.version, r.counted
  ), leased as (
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
    select gen_random_uuid(), t.tenant_id, t.lane_id, p_node, p_now, p_now + p_lease, count(*),
           array_agg(t.job_id order by t.seq), array_agg(t.version + 1 order by t.seq),
           array_agg(t.counted order by t.seq)
    from taken as t
    group by t.tenant_id, t.lane_id
    returning id, lane_id
  )
  select l.id, t.tenant_id, t.lane_id, t.job_id, t.version + 1, t.counted, row_number() over (order by c.turn, c.dealt)
  from taken as t
  join leased as l on l.lane_id = t.lane_id
  join chosen as c on c.seq = t.seq
$$;
comment on function windlass._take_ready is 'Take jobs out of line onto fresh leases.';
