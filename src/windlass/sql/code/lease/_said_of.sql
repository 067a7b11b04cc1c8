-- What was said of anything that a node claims from: whether there are gates, weights, settings of these queues, a drain.
-- For most nodes nothing was, and they need not ask for each lane.  Part of whatever asks, at no cost of a call.
-- definer: none
create function windlass._said_of(p_node uuid, p_queues text[])
returns table (gated boolean, weighed boolean, special boolean, draining boolean)
language sql stable
begin atomic
  select exists (select from windlass_data.gate),
         exists (select from windlass_data.tenant as t where t.weight <> 1),
         exists (select from windlass_data.queue as q where q.name = any (p_queues)),
         exists (select from windlass_data.node as n where n.id = p_node and n.draining_at is not null);
end;
comment on function windlass._said_of(uuid, text[]) is 'What was said of anything that a node claims from.';
