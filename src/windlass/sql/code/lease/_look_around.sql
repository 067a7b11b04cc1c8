-- What a claim finds before it takes anything, all in one look, since most find nothing: whether anything was ever said of
-- what it must keep to (or cluster jobs want their own way, or the node is draining), whether something is due, in how many
-- of its queues the node waits (if that is asked), and the first three of its lanes that may have work.
-- Part of whatever asks, at no cost of a call.
-- definer: none
-- windlass: after lease/_busy_lanes
create function windlass._look_around(
  p_node uuid, p_queues text[], p_kinds text[], p_now timestamptz, p_since timestamptz, p_waits boolean)
returns table (said boolean, due boolean, waits integer, busy integer[])
language sql stable
begin atomic
  select exists (select from windlass_data.said) or 'windlass.cluster' = any (p_queues)
         or exists (select from windlass_data.node as n where n.id = p_node and n.draining_at is not null),
         exists (select from windlass_data.key_check)
         or exists (select from windlass_data.scheduled as s
                    where s.run_at <= p_now and s.run_at >= coalesce(p_since, '-infinity') order by s.run_at limit 1),
         case when p_waits then (
           select count(*)::integer from windlass_data.waiting as w where w.node_id = p_node and w.queue = any (p_queues)) end,
         array(select b.lane_id from windlass._busy_lanes(p_queues, p_kinds) as b);
end;
comment on function windlass._look_around is 'What a claim finds before it takes anything.';
