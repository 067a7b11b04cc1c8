-- When the period began in which a moment lies (UTC; a week begins on Monday), or the one p_later periods after it.
-- definer: none
create function windlass._period_start(p_period text, p_at timestamptz, p_later integer default 0) returns timestamptz
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select (date_trunc(p_period, p_at at time zone 'UTC') + p_later * ('1 ' || p_period)::interval) at time zone 'UTC'
$$;
comment on function windlass._period_start is 'When a budget''s period begins.';
