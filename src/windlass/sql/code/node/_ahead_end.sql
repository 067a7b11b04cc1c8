-- The last day of the time to come that has more than p_few jobs, or attempts, from it on; null: there are not so many.
-- definer: engine
create function windlass._ahead_end(p_few integer) returns date
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select max((to_timestamp(('x' || left(replace(f.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) at time zone 'UTC')::date)
  from (
    (select j.id from windlass_data.job_ahead as j order by j.id desc offset p_few limit 1)
    union all
    (select a.job_id from windlass_data.attempt_ahead as a order by a.job_id desc offset p_few limit 1)
  ) as f
$$;
comment on function windlass._ahead_end(integer) is 'The last day of the time to come that has many rows from it on.';
