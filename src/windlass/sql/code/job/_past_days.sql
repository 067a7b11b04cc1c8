-- The days with a table of their own in which jobs of some state are past their keep, oldest first.
--
-- `due` has the states for which the day is over: a keep of a day or more is counted from the end of the day, so that
-- days can go as a whole; a shorter one is taken at its word.  `whole`: the bulk, which is the jobs that succeeded, is
-- past its keep, so the day can go; `overdue`: it could have gone three days ago.  A long day (_close_ahead) counts as its last.
-- definer: none
create function windlass._past_days(p_before jsonb, p_now timestamptz)
returns table (day date, due jsonb, whole boolean, overdue boolean)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.day, jsonb_object_agg(b.state, b.before),
         coalesce(bool_or(b.state = 'succeeded' and b.before >= d.day_end), false),
         coalesce(bool_or(b.state = 'succeeded' and b.before >= d.day_end + interval '3 days'), false)
  from (
    select n.day, windlass._first_day(n.day)::timestamp at time zone 'UTC' as day_start,
           (n.day + 1)::timestamp at time zone 'UTC' as day_end
    from pg_inherits as i
    join pg_class as c on c.oid = i.inhrelid
    cross join lateral to_date(substr(c.relname, 5), 'YYYYMMDD') as n(day)
    where i.inhparent = 'windlass_data.job'::regclass and c.relname ~ '^job_[0-9]{8}$'
  ) as d
  join (
    select s.key as state, s.value::timestamptz as before from jsonb_each_text(p_before) as s
  ) as b on b.before >= d.day_end or (b.before > p_now - interval '1 day' and b.before > d.day_start)
  group by d.day
  order by d.day
$$;
comment on function windlass._past_days(jsonb, timestamptz) is 'The days in which jobs are past their keep.';
