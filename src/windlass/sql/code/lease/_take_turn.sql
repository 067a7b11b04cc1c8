-- Take up to p_left jobs out of these lanes, as _next_turn and the limits shared it out, onto fresh leases, one per lane.
-- Within a flow (all that has one place) priority decides, then the place in line.
--
-- Rows that somebody holds are passed over: those behind them do not wait.  Exactly the rows that are deleted here are
-- leased here, from a time on that is read by the statement which sees them: nothing starts before it was there.
-- definer: none
create function windlass._take_turn(
  p_node uuid, p_lanes integer[], p_priorities integer[], p_places bigint[], p_ranks bigint[], p_weights integer[],
  p_marks bigint[], p_shares integer[], p_offers integer[], p_left integer, p_lease double precision, p_begins boolean,
  out tokens uuid[], out tenants uuid[], out lanes integer[], out jobs uuid[], out versions integer[],
  out counted integer[], out ends timestamptz[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  with giving as materialized (
    select b.*, windlass_data.new_id() as token, (select windlass_data.clock()) as now
    from unnest(p_lanes, p_priorities, p_places, p_ranks, p_weights, p_marks, p_shares, p_offers)
      as b(lane_id, priority, place, rank, weight, mark, share, offer)
  ), offered as materialized (
    select r.tid, b.token, b.now, b.place, b.rank, b.weight, b.share,
           row_number() over (partition by b.place order by b.priority desc, r.seq) as turn
    from giving as b
    cross join lateral (
      select r.ctid as tid, r.seq
      from windlass_data.ready as r
      where r.lane_id = b.lane_id and r.seq > coalesce(b.mark, 0)
      order by r.seq
      limit b.offer
      for update skip locked
    ) as r
  ), chosen as materialized (
    select o.tid, o.token, o.now, (o.turn - 1) / o.weight as round, o.rank, o.turn from offered as o
    where o.turn <= o.share order by round, o.place limit p_left
  ), taken as (
    delete from windlass_data.ready as r
    where r.ctid = any (array(select c.tid from chosen as c))
    returning r.ctid as tid, r.lane_id, r.tenant_id, r.job_id, r.version, r.counted
  ), claimed as materialized (
    select c.token, c.now, t.tenant_id, t.lane_id, t.job_id, t.version + 1 as version, t.counted
    from taken as t
    join chosen as c on c.tid = t.tid
    order by c.round, c.rank, c.turn
  ), leased as (
    insert into windlass_data.lease
      (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted, begins)
    select c.token, c.tenant_id, c.lane_id, p_node, c.now, c.now + make_interval(secs => p_lease), count(*),
           array_agg(c.job_id), array_agg(c.version), array_agg(c.counted), case when p_begins then '{}'::uuid[] end
    from claimed as c
    group by c.token, c.now, c.tenant_id, c.lane_id
  )
  select array_agg(c.token), array_agg(c.tenant_id), array_agg(c.lane_id), array_agg(c.job_id), array_agg(c.version),
         array_agg(c.counted), array_agg(c.now + make_interval(secs => p_lease))
  into tokens, tenants, lanes, jobs, versions, counted, ends
  from claimed as c;
end
$$;
comment on function windlass._take_turn is 'Take what was shared out onto fresh leases.';
