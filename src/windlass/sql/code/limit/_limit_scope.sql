-- What a limit is on, in words.
-- definer: none
create function windlass._limit_scope(p_limit windlass_data.job_limit) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(nullif(concat_ws(', ',
    'tenant ' || (select t.slug from windlass_data.tenant as t where t.id = p_limit.tenant_id),
    'queue ' || p_limit.queue, 'kind ' || p_limit.kind), ''), 'everything')
$$;
comment on function windlass._limit_scope is 'What a limit is on, in words.';
