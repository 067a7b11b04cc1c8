-- The first day that lies in the tables named for a day: itself, or an earlier one where _close_ahead made one day of many.
-- definer: none
create function windlass._first_day(p_day date) returns date
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select (to_timestamp(('x' || left(replace(f.id, '-', ''), 12))::bit(48)::bigint / 1000.0) at time zone 'UTC')::date
  from pg_class as c
  cross join lateral substring(pg_get_expr(c.relpartbound, c.oid) from $re$FROM \('([0-9a-f-]{36})'\)$re$) as f(id)
  where c.oid = to_regclass(to_char(p_day, '"windlass_data.job_"YYYYMMDD'))
$$;
comment on function windlass._first_day(date) is 'The first day that lies in the tables named for a day.';
