-- Take up to p_limit jobs out of these lanes onto fresh leases, one lease per lane and round, from p_marks on: the caller
-- knows of nothing before them (see survey_lanes).
--
-- Flows take turns, each for as many jobs as it weighs, in the order of p_firsts, new ones before all others; who is in a
-- last round that is not whole, chance decides.  Within a flow priority decides, then the place in line; of a strict one
-- only the highest priority is looked at, so that nothing lower is taken while some of it is left.  Rows that somebody
-- holds are passed over: those behind them do not wait.  Exactly the rows that are deleted here are leased here.
-- definer: none
create function windlass._take_ready(
  p_node uuid, p_lanes integer[], p_priorities integer[], p_flows text[], p_weights integer[], p_one_line boolean[],
  p_marks bigint[], p_firsts bigint[], p_limit integer, p_now timestamptz, p_lease interval)
returns table (
  token uuid, tenant_id uuid, lane_id integer, job_id uuid, version integer, counted integer, seq bigint)
language plpgsql volatile rows 500
set search_path = pg_catalog, pg_temp
as $$
declare
  v_turn record;
  v_left integer := p_limit;
  v_got integer;
  v_seed bigint := extract(microseconds from p_now);
begin
  if cardinality(p_lanes) = 1 then
    return query
    select t.* from windlass._take_lane(p_node, p_lanes[1], coalesce(p_marks[1], 0), p_limit, p_now, p_lease) as t;
  end if;
  while cardinality(p_lanes) > 1 loop
    select array_agg(f.lane_id) as lanes, array_agg(f.priority) as priorities, array_agg(f.place) as places,
           array_agg(f.rank) as ranks, array_agg(f.weight) as weights, array_agg(f.mark) as marks,
           array_agg(windlass_data.new_id()) as tokens, array_agg(f.share) as shares, min(f.share) as share,
           bool_or(f.one_line) as one_line,
           -- A strict flow has many lanes in one line: four times the share is enough to look at.
           array_agg(case when f.lanes > 4 and f.one_line
                          then ceil(4.0 * f.share / f.lanes) else f.share end::integer) as offers
    into v_turn
    from (
      select f.*, ceil(v_left::numeric * f.weight / sum(f.weight) filter (where f.nth = 1) over ())::integer as share
      from (
        select s.*, row_number() over (partition by s.flow) as nth, count(*) over (partition by s.flow) as lanes
        from (
          select b.*, max(b.priority) over (partition by b.flow) as top,
                 dense_rank() over (order by b.first nulls first, b.flow) as rank,
                 dense_rank() over (order by
                   -ln((hashtextextended(b.flow, v_seed) & 2147483647 | 1) / 2147483648.0::float8) / b.weight, b.flow) as place
          from unnest(p_lanes, p_priorities, p_flows, p_weights, p_one_line, p_marks, p_firsts)
            as b(lane_id, priority, flow, weight, one_line, mark, first)
          cross join lateral (
            select from windlass_data.ready as r where r.lane_id = b.lane_id and r.seq > coalesce(b.mark, 0) limit 1) as waiting
        ) as s
        where s.place <= v_left and (s.priority = s.top or not s.one_line)
      ) as f
    ) as f;
    exit when v_turn.lanes is null;

    return query
    with offered as materialized (
      select r.tid, b.token, b.place, b.rank, b.weight, b.share,
             row_number() over (partition by b.place order by b.priority desc, r.seq) as turn
      from unnest(v_turn.lanes, v_turn.priorities, v_turn.places, v_turn.ranks, v_turn.weights, v_turn.marks,
                  v_turn.tokens, v_turn.shares, v_turn.offers)
        as b(lane_id, priority, place, rank, weight, mark, token, share, offers)
      cross join lateral (
        select r.ctid as tid, r.seq
        from windlass_data.ready as r
        where r.lane_id = b.lane_id and r.seq > coalesce(b.mark, 0)
        order by r.seq
        limit b.offers
        for update skip locked
      ) as r
    ), chosen as materialized (
      select o.tid, o.token, (o.turn - 1) / o.weight as round, o.rank, o.turn from offered as o
      where o.turn <= o.share order by round, o.place limit v_left
    ), taken as (
      delete from windlass_data.ready as r
      where r.ctid = any (array(select c.tid from chosen as c))
      returning r.ctid as tid, r.lane_id, r.tenant_id, r.job_id, r.version, r.counted, r.seq
    ), claimed as materialized (
      select c.token, t.tenant_id, t.lane_id, t.job_id, t.version + 1 as version, t.counted, t.seq
      from taken as t
      join chosen as c on c.tid = t.tid
      order by c.round, c.rank, c.turn
    ), leased as (
      insert into windlass_data.lease
        (id, tenant_id, lane_id, node_id, claimed_at, expires_at, open, job_ids, versions, counted)
      select c.token, c.tenant_id, c.lane_id, p_node, p_now, p_now + p_lease, count(*),
             array_agg(c.job_id), array_agg(c.version), array_agg(c.counted)
      from claimed as c
      group by c.token, c.tenant_id, c.lane_id
    )
    select c.token, c.tenant_id, c.lane_id, c.job_id, c.version, c.counted, c.seq from claimed as c;
    get diagnostics v_got = row_count;
    v_left := v_left - v_got;
    -- Where no flow can have given its share, nothing is left; a strict one may have given all of one priority.
    exit when v_left <= 0 or v_got = 0 or (v_got < v_turn.share and not v_turn.one_line);
  end loop;
end
$$;
comment on function windlass._take_ready is 'Take jobs out of line onto fresh leases.';
