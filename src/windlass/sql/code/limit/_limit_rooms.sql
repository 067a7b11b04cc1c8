-- How many jobs more each of these limits lets start now, and why.  Exact for who holds them (see _hold_limits); for
-- anybody else it is what was so a moment ago.
--
-- What runs is counted from the leases, so whatever a crash leaves behind is counted until its lease has expired, and
-- not a moment longer.  A bucket fills by the clock alone.  `again_at`: when there may be room, as far as time tells.
-- definer: none
create function windlass._limit_rooms(p_limits integer[], p_now timestamptz)
returns table (
  limit_id integer, room integer, running integer, tokens double precision, filled_at timestamptz, spent bigint,
  again_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select m.id,
         greatest(0, least(m.concurrency - r.running, floor(u.tokens)::integer,
                           case when u.spent >= m.budget_cents then 0 end, 2147483647)),
         r.running, u.tokens, u.filled_at, u.spent,
         greatest(
           case when u.tokens < 1
                then p_now + make_interval(secs => (1 - u.tokens) * m.rate_seconds / m.rate) end,
           case when u.spent >= m.budget_cents then windlass._period_start(m.budget_period, p_now, 1) end)
  from unnest(p_limits) as l(id)
  cross join lateral (select m.* from windlass_data.job_limit as m where m.id = l.id offset 0) as m
  cross join lateral (
    select least(m.burst, u.tokens + greatest(0, extract(epoch from p_now - u.filled_at)) * m.rate / m.rate_seconds) as tokens,
           greatest(u.filled_at, p_now) as filled_at,
           case when m.budget_period is not null then
             case when u.spent_from = b.start then u.spent_cents else 0 end
             + coalesce((select sum(s.cents) from windlass_data.spending as s
                         where s.limit_id = m.id and s.at >= b.start), 0)::bigint end as spent
    from windlass_data.limit_use as u
    cross join lateral (select windlass._period_start(m.budget_period, p_now) as start) as b
    where u.limit_id = m.id
  ) as u
  cross join lateral (
    select coalesce(sum(o.open), 0)::integer as running
    from (
      select le.lane_id, le.open from windlass_data.lease as le where m.concurrency is not null and le.tenant_id = m.tenant_id
      union all
      select le.lane_id, le.open from windlass_data.lease as le where m.concurrency is not null and m.tenant_id is null
    ) as o
    cross join lateral (select la.queue, la.kind from windlass_data.lane as la where la.id = o.lane_id offset 0) as la
    where not starts_with(la.queue, 'windlass.')
      and (m.queue is null or la.queue = m.queue) and (m.kind is null or la.kind = m.kind)
  ) as r;
end
$$;
comment on function windlass._limit_rooms is 'How many jobs more these limits let start now.';
