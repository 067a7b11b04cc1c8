-- How many jobs and attempts lie in the time to come, counted up to p_limit each.
-- definer: engine
create function windlass._ahead_size(p_limit integer) returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select (select count(*) from (select from windlass_data.job_ahead limit p_limit) as j)
    + (select count(*) from (select from windlass_data.attempt_ahead limit p_limit) as a)
$$;
comment on function windlass._ahead_size(integer) is 'How many rows lie in the time to come.';
