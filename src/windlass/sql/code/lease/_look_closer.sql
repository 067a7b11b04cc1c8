-- Where something was said at some time, what holds now: whether sessions are bound, whether limits may hold jobs back, and
-- whether there is anything else that a node must keep to.
-- Part of whatever asks, at no cost of a call.
-- definer: none
-- windlass: after lease/_said_of
create function windlass._look_closer(p_node uuid, p_queues text[])
returns table (bound boolean, limited boolean, said boolean)
language sql stable
begin atomic
  select exists (select from windlass_data.role_tenant),
         exists (select from windlass_data.job_limit as m where m.claims),
         s.gated or s.weighed or s.special or s.draining or 'windlass.cluster' = any (p_queues)
  from windlass._said_of(p_node, p_queues) as s;
end;
comment on function windlass._look_closer is 'What a claim must keep to.';
