-- The gates and limits that hold the jobs of a lane back now, from every node.
--
-- Who is bound to a tenant hears that a limit which it shares with others is reached, and not how much they use of it.
-- definer: none
create function windlass._why_held(p_lane windlass_data.lane, p_now timestamptz) returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
begin
  return query
  select 'gate', true,
         format('%s closed the gate on %s', g.actor, coalesce(nullif(concat_ws(', ',
           'tenant ' || (select t.slug from windlass_data.tenant as t where t.id = g.tenant_id), 'queue ' || g.queue,
           'kind ' || g.kind), ''), 'everything')) || coalesce(': ' || nullif(g.reason, ''), ''),
         'clearing the gate' || case when g.expires_at is not null then ', or time' else '' end, g.expires_at,
         jsonb_build_object('gate', g.id, 'actor', g.actor, 'reason', g.reason, 'since', g.created_at)
  from windlass._gates_on(p_lane.tenant_id, p_lane.queue, p_lane.kind, null, p_now) as g
  order by g.created_at;
  return query
  select w.code, true, format(w.says, windlass._limit_scope(m)) || case when s.seen then w.figures else '' end, w.clears,
         case when w.code <> 'concurrency' and s.seen then r.again_at end,
         jsonb_build_object('limit', m.id, 'scope', windlass._limit_scope(m), 'maximum', w.maximum,
                            'current', case when s.seen then w.used end)
  from windlass._limit_rooms(array(select l.limit_id from windlass._limits_of(array[p_lane.id]) as l), p_now) as r
  join windlass_data.job_limit as m on m.id = r.limit_id
  cross join lateral (select v_bound is null or m.tenant_id = v_bound as seen) as s
  cross join lateral (
    values
      ('concurrency', 'the limit on %s lets no more run', format(': %s of %s', r.running, m.concurrency),
       'the end of one of them, or raising the limit', m.concurrency::numeric, r.running::numeric,
       r.running >= m.concurrency),
      ('rate', 'the rate of %s is used up', format(': %s in %s s', m.rate, m.rate_seconds),
       'time, or raising the rate', m.rate::numeric, round(r.tokens::numeric, 3), r.tokens < 1),
      ('budget', 'the budget of %s is spent', format(': %s of %s cents this %s', r.spent, m.budget_cents, m.budget_period),
       'the next ' || m.budget_period || ', or raising the budget', m.budget_cents::numeric, r.spent::numeric,
       r.spent >= m.budget_cents)
  ) as w(code, says, figures, clears, maximum, used, reached)
  where r.room = 0 and w.reached
  order by m.id;
end
$$;
comment on function windlass._why_held is 'The gates and limits that hold a lane''s jobs back.';
