-- Where the time begins for which no day was made yet: the lower end of `job_ahead`.
-- definer: none
create function windlass._ahead_from() returns uuid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select substring(pg_get_expr(c.relpartbound, c.oid) from $re$FROM \('([0-9a-f-]{36})'\)$re$)::uuid
  from pg_class as c where c.oid = 'windlass_data.job_ahead'::regclass
$$;
comment on function windlass._ahead_from() is 'Where the time begins for which no day was made yet.';
