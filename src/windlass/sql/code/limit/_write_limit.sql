-- Put a limit in place of what was there in its scope, tell of it, and wake those who may go on now.
-- definer: none
create function windlass._write_limit(
  p_old windlass_data.job_limit, p_new windlass_data.job_limit, p_reason text, p_actor text) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id integer := p_old.id;
  v_start timestamptz := windlass._period_start(p_new.budget_period, p_new.changed_at);
begin
  if v_id is null then
    insert into windlass_data.job_limit (tenant_id, queue, kind, concurrency, depth, reason, actor, changed_at)
    values (p_new.tenant_id, p_new.queue, p_new.kind, coalesce(p_new.concurrency, 0), p_new.depth, '', '', p_new.changed_at)
    returning id into v_id;
    insert into windlass_data.limit_use (limit_id, filled_at) values (v_id, p_new.changed_at);
  end if;
  update windlass_data.job_limit as m
  set (concurrency, rate, rate_seconds, burst, depth, budget_cents, warn_cents, budget_period, reason, actor, changed_at) =
      (p_new.concurrency, p_new.rate, p_new.rate_seconds, p_new.burst, p_new.depth, p_new.budget_cents, p_new.warn_cents,
       p_new.budget_period, p_new.reason, p_new.actor, p_new.changed_at)
  where m.id = v_id;
  update windlass_data.limit_use as u
  set tokens = case when p_new.rate is null then 0 when p_old.rate is null then p_new.burst
                    else least(p_new.burst, p_old.burst,
                               u.tokens + greatest(0, extract(epoch from p_new.changed_at - u.filled_at))
                                                       * p_old.rate / p_old.rate_seconds) end,
      filled_at = greatest(u.filled_at, p_new.changed_at),
      warned = u.warned and p_new.warn_cents is not distinct from p_old.warn_cents
  where u.limit_id = v_id;
  if p_new.budget_period is distinct from p_old.budget_period then
    delete from windlass_data.spending as s where s.limit_id = v_id;
  end if;
  if p_new.budget_period is distinct from p_old.budget_period and v_start is not null then
    update windlass_data.limit_use as u
    set spent_from = v_start, warned = false,
        spent_cents = windlass._spent_since(p_new.tenant_id, p_new.queue, p_new.kind, v_start)
    where u.limit_id = v_id;
  end if;
  delete from windlass_data.depth_limit as d where d.limit_id = v_id and p_new.depth is null;
  insert into windlass_data.depth_limit (limit_id) select v_id where p_new.depth is not null on conflict do nothing;
  perform windlass._record(
    coalesce(p_new.tenant_id, '00000000-0000-0000-0000-000000000000'), 'limit.set', null, p_reason, p_actor,
    jsonb_build_object('limit', v_id, 'after', windlass._limit_facts(p_new), 'before', windlass._limit_facts(p_old)));
  perform windlass._wake(array(select distinct w.queue from windlass_data.waiting as w), 10000);
  return v_id;
end
$$;
comment on function windlass._write_limit is 'Put a limit in place.';
