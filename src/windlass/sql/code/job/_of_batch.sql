-- How the refusal of a job begins: with its place in the batch, unless it came alone.
-- definer: none
create function windlass._of_batch(p_place bigint, p_jobs windlass_data.new_job[]) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when cardinality(p_jobs) > 1 then 'job ' || p_place || ' of the batch: ' else '' end
$$;
comment on function windlass._of_batch is 'Which job of a batch is refused; empty for a lone one.';
