-- Take up to p_limit jobs out of these lanes onto fresh leases, one lease per lane and round.
--
-- Flows (a tenant's part of a queue, or a strict queue as a whole) take turns; within a flow priority decides,
-- then the place in line.  In a round each flow gives at most its share.  Rows that somebody holds are passed over:
-- those behind them do not wait.  Exactly the rows that are deleted here are leased here.
-- definer: none
create function windlass._take_ready(
  p_node uuid, p_lanes integer[], p_priorities integer[], p_flows text[], p_limit integer, p_now timestamptz,
  p_lease interval)
returns table (token uuid, tenant_id uuid, lane_id integer, job_id uuid, version integer, counted integer)
language plpgsql volatile rows 500
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lanes integer[];
  v_priorities integer[];
  v_places integer[];
  v_tokens uuid[];
  v_left integer := p_limit;
  v_share integer;
  v_got integer;
begin
  loop
    select array_agg(s.lane_id), array_agg(s.priority), array_agg(s.place), array_agg(gen_random_uuid()),
           ceil(v_left::numeric / max(s.place))
    into v_lanes, v_priorities, v_places, v_tokens, v_share
    from (
      select b.lane_id, b.priority,
             dense_rank() over (order by hashtextextended(b.flow, extract(microseconds from p_now)::bigint), b.flow) as place
      from unnest(p_lanes, p_priorities, p_flows) as b(lane_id, priority, flow)
      cross join lateral (select from windlass_data.ready as r where r.lane_id = b.lane_id limit 1) as busy
    ) as s
    where s.place <= v_left;
    exit when v_lanes is null;

    return query
    with offered as materialized (
      select r.tid, b.token, b.place, row_number() over (partition by b.place order by b.priority desc, r.seq) as turn
      from unnest(v_lanes, v_priorities, v_places, v_tokens) as b(lane_id, priority, place, token)
      cross join lateral (
        select r.ctid as tid, r.seq
        from windlass_data.ready as r
        where r.lane_id = b.lane_id
        order by r.seq
        limit v_share
        for update skip locked
      ) as r
    ), chosen as materialized (
      select o.* from offered as o where o.turn <= v_share order by o.turn, o.place limit v_left
    ), taken as (
      delete from windlass_data.ready as r
      where r.ctid = any (array(select c.tid from chosen as c))
      returning r.ctid as tid, r.lane_id, r.tenant_id, r.job_id, r.version, r.counted
    ), claimed as materialized (
      select c.token, t.tenant_id, t.lane_id, t.job_id, t.version + 1 as version, t.counted, c.turn, c.place
      from taken as t
      join chosen as c on c.tid = t.tid
      order by c.turn, c.place
    ), leased as (
      insert into windlass_data.lease
        (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
      select c.token, c.tenant_id, c.lane_id, p_node, p_now, p_now + p_lease, count(*),
             array_agg(c.job_id), array_agg(c.version), array_agg(c.counted)
      from claimed as c
      group by c.token, c.tenant_id, c.lane_id
    )
    select c.token, c.tenant_id, c.lane_id, c.job_id, c.version, c.counted from claimed as c order by c.turn, c.place;
    get diagnostics v_got = row_count;
    v_left := v_left - v_got;
    exit when v_left <= 0 or v_got < v_share;  -- where no flow can have given its share, nothing is left
  end loop;
end
$$;
comment on function windlass._take_ready is 'Take jobs out of line onto fresh leases.';
