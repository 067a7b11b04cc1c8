-- Refuse a limit that makes no sense, naming what is wrong with it.
-- definer: none
create function windlass._check_limit(p_limit windlass_data.job_limit) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_why text;
begin
  v_why := case
    when p_limit.queue !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$' then 'the queue must have 1 to 100 letters, digits or _ . : / -'
    when starts_with(p_limit.queue, 'windlass.') then 'the queues of Windlass itself come under no limits'
    when p_limit.kind !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}$' then 'the kind must have 1 to 200 letters, digits or _ . : / -'
    when p_limit.concurrency < 0 then 'concurrency must be 0 or more'
    when p_limit.rate not between 1 and 1000000000 then 'rate must be from 1 to 1000000000 jobs'
    when not p_limit.rate_seconds between 0.001 and 31536000 then 'the period of a rate must be from 0.001 to 31536000 seconds'
    when (p_limit.rate_seconds is not null or p_limit.burst is not null) and p_limit.rate is null
      then 'a period or a burst needs a rate'
    when p_limit.burst not between 1 and 1000000000 then 'burst must be from 1 to 1000000000 jobs'
    when not p_limit.depth between 0 and 10000000 then 'depth must be from 0 to 10000000 jobs'
    when p_limit.budget_cents < 0 or p_limit.warn_cents < 0 then 'a budget must be 0 cents or more'
    when p_limit.warn_cents > p_limit.budget_cents then 'a warning must come before the budget is spent'
    when p_limit.budget_period not in ('hour', 'day', 'week', 'month')
      then 'the period of a budget is an hour, a day, a week or a month'
    when p_limit.budget_period is not null and p_limit.budget_cents is null and p_limit.warn_cents is null
      then 'a period needs a budget or a warning'
    when num_nonnulls(p_limit.concurrency, p_limit.rate, p_limit.depth, p_limit.budget_cents, p_limit.warn_cents) = 0
      then 'a limit needs a concurrency, a rate, a depth or a budget'
  end;
  if v_why is not null then
    raise exception '%', v_why using errcode = 'WL007';
  elsif p_limit.tenant_id is not null
        and not exists (select from windlass_data.tenant as t where t.id = p_limit.tenant_id) then
    raise exception 'there is no tenant %', p_limit.tenant_id using errcode = 'WL001';
  end if;
end
$$;
comment on function windlass._check_limit is 'Refuse a limit that makes no sense.';
