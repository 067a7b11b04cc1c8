-- What a claim finds before it takes anything, all in one look, since most find nothing: whether sessions are bound, whether
-- limits may hold jobs back, whether something is due, in how many of its queues the node waits, whether anything was
-- said of what it claims from (or cluster jobs want their own way), and the first three of its lanes that may have work.
-- Part of whatever asks, at no cost of a call.
-- definer: none
-- windlass: after lease/_said_of
create function windlass._look_around(
  p_node uuid, p_queues text[], p_kinds text[], p_now timestamptz, p_since timestamptz)
returns table (bound boolean, limited boolean, due boolean, waits integer, said boolean, busy integer[])
language sql stable
begin atomic
  select exists (select from windlass_data.role_tenant),
         exists (select from windlass_data.job_limit as m where m.claims),
         exists (select from windlass_data.key_check)
         or exists (select from windlass_data.scheduled as s
                    where s.run_at <= p_now and s.run_at >= coalesce(p_since, '-infinity') order by s.run_at limit 1),
         (select count(*)::integer from windlass_data.waiting as w where w.node_id = p_node and w.queue = any (p_queues)),
         s.gated or s.weighed or s.special or s.draining or 'windlass.cluster' = any (p_queues),
         array(select b.lane_id from windlass_data.busy_lane as b
               where b.queue = any (p_queues) and (p_kinds is null or b.kind = any (p_kinds)) limit 3)
  from windlass._said_of(p_node, p_queues) as s;
end;
comment on function windlass._look_around is 'What a claim finds before it takes anything.';
