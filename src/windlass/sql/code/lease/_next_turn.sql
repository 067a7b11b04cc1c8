-- Who gives how much to a claim of p_left jobs, as arrays, one element per lane; null where nothing is in line.
--
-- Flows take turns, each for as many jobs as it weighs, in the order of p_firsts, new ones before all others; who is in a
-- last round that is not whole, chance decides.  Of a strict flow only the highest priority is looked at, so that nothing
-- lower is taken while some of it is left.  Lanes of one flow stand in the order of their priority.
-- definer: none
create function windlass._next_turn(
  p_lanes integer[], p_priorities integer[], p_flows text[], p_weights integer[], p_one_line boolean[],
  p_marks bigint[], p_firsts bigint[], p_shut integer[], p_left integer, p_seed bigint,
  out lanes integer[], out priorities integer[], out places bigint[], out ranks bigint[], out weights integer[],
  out marks bigint[], out shares integer[], out offers integer[], out share integer, out one_line boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  select array_agg(f.lane_id), array_agg(f.priority), array_agg(f.place), array_agg(f.rank), array_agg(f.weight),
         array_agg(f.mark), array_agg(f.share),
         -- A strict flow has many lanes in one line: four times the share is enough to look at first.
         array_agg(case when f.lanes > 4 and f.one_line
                        then ceil(4.0 * f.share / f.lanes) else f.share end::integer),
         min(f.share), bool_or(f.one_line)
  into lanes, priorities, places, ranks, weights, marks, shares, offers, share, one_line
  from (
    select f.*, ceil(p_left::numeric * f.weight / sum(f.weight) filter (where f.nth = 1) over ())::integer as share
    from (
      select s.*, row_number() over (partition by s.flow order by s.priority desc) as nth,
             count(*) over (partition by s.flow) as lanes
      from (
        select b.*, max(b.priority) over (partition by b.flow) as top,
               dense_rank() over (order by b.first nulls first, b.flow) as rank,
               dense_rank() over (order by
                 -ln((hashtextextended(b.flow, p_seed) & 2147483647 | 1) / 2147483648.0::float8) / b.weight, b.flow) as place
        from unnest(p_lanes, p_priorities, p_flows, p_weights, p_one_line, p_marks, p_firsts)
          as b(lane_id, priority, flow, weight, one_line, mark, first)
        cross join lateral (
          select from windlass_data.ready as r where r.lane_id = b.lane_id and r.seq > coalesce(b.mark, 0) limit 1) as waiting
        where p_shut is null or b.lane_id <> all (p_shut)
      ) as s
      where s.place <= p_left and (s.priority = s.top or not s.one_line)
    ) as f
    order by f.place, f.nth
  ) as f;
  if offers <> shares then
    offers := windlass._join_lines(lanes, places, marks, shares, offers);
  end if;
end
$$;
comment on function windlass._next_turn is 'Who gives how much to a claim.';
