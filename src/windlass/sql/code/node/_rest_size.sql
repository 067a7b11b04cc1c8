-- How many jobs of a day lie in the rest, counted up to p_limit.
-- definer: engine
create function windlass._rest_size(p_from uuid, p_to uuid, p_limit integer) returns bigint
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select count(*) from (
    select from windlass_data.job_rest as j where j.id >= p_from and j.id < p_to limit p_limit
  ) as found
$$;
comment on function windlass._rest_size is 'How many jobs of a day lie in the rest.';
