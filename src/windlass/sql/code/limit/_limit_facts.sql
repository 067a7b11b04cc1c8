-- What a limit says, for the record.
-- definer: none
create function windlass._limit_facts(p_limit windlass_data.job_limit) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'queue', p_limit.queue, 'kind', p_limit.kind, 'concurrency', p_limit.concurrency, 'rate', p_limit.rate,
    'rate_seconds', p_limit.rate_seconds, 'burst', p_limit.burst, 'depth', p_limit.depth,
    'budget_cents', p_limit.budget_cents, 'warn_cents', p_limit.warn_cents, 'budget_period', p_limit.budget_period))
$$;
comment on function windlass._limit_facts is 'What a limit says.';
