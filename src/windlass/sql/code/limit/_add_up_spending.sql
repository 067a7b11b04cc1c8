-- Add what was reported under these budgets to what is known to be spent, and say so once in a period where that is more
-- than a warning allows.  The caller holds the limits.
-- definer: none
create function windlass._add_up_spending(p_limits integer[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_warning record;
begin
  if not exists (select from windlass_data.spending as s where s.limit_id = any (p_limits)) then
    return;
  end if;
  with reported as (
    delete from windlass_data.spending as s where s.limit_id = any (p_limits) returning s.*
  ), added as (
    select m.id, b.start, coalesce(sum(r.cents) filter (where r.at >= b.start), 0)::bigint as cents
    from windlass_data.job_limit as m
    cross join lateral (select windlass._period_start(m.budget_period, p_now) as start) as b
    join reported as r on r.limit_id = m.id
    where m.budget_period is not null  -- it may have been cleared since
    group by m.id, b.start
  )
  update windlass_data.limit_use as u
  set spent_cents = a.cents + case when u.spent_from = a.start then u.spent_cents else 0 end,
      warned = u.warned and u.spent_from = a.start,
      spent_from = a.start
  from added as a
  where u.limit_id = a.id;
  for v_warning in
    update windlass_data.limit_use as u set warned = true
    from windlass_data.job_limit as m
    where m.id = u.limit_id and u.limit_id = any (p_limits) and not u.warned
      and u.spent_cents >= least(m.warn_cents, m.budget_cents)
    returning m.*, u.spent_cents, u.spent_from
  loop
    perform windlass._record(
      coalesce(v_warning.tenant_id, '00000000-0000-0000-0000-000000000000'), 'budget.warning', null, null, 'windlass',
      jsonb_build_object('limit', v_warning.id, 'queue', v_warning.queue, 'kind', v_warning.kind,
                         'spent_cents', v_warning.spent_cents, 'warn_cents', v_warning.warn_cents,
                         'budget_cents', v_warning.budget_cents, 'since', v_warning.spent_from));
  end loop;
end
$$;
comment on function windlass._add_up_spending is 'Add reported costs to what is spent under budgets.';
