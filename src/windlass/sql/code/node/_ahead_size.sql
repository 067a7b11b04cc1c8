-- How many jobs and attempts lie in the time to come, up to before p_to, counted up to p_limit each.
-- definer: engine
create function windlass._ahead_size(p_to uuid, p_limit integer) returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select (select count(*) from (select from windlass_data.job_ahead as j where j.id < p_to limit p_limit) as j)
    + (select count(*) from (select from windlass_data.attempt_ahead as a where a.job_id < p_to limit p_limit) as a)
$$;
comment on function windlass._ahead_size(uuid, integer) is 'How many rows lie in the time to come.';
