-- The first three lanes of these queues and kinds that may have work: whether there is more than one is all that a claim asks.
-- Part of whatever asks, at no cost of a call.
-- definer: none
create function windlass._busy_lanes(p_queues text[], p_kinds text[]) returns table (lane_id integer)
language sql stable
begin atomic
  select b.lane_id from windlass_data.busy_lane as b
  where b.queue = any (p_queues) and (p_kinds is null or b.kind = any (p_kinds)) limit 3;
end;
comment on function windlass._busy_lanes is 'The first lanes that may have work.';
