-- Have PostgreSQL see for itself that the rest ends where it should: it reads it all, once in a while, and nobody waits.
-- definer: none
create function windlass._validate_rest() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table text;
begin
  for v_table in
    select c.conrelid::regclass::text from pg_constraint as c
    where c.conname = 'outside' and not c.convalidated
      and c.conrelid in ('windlass_data.job_rest'::regclass, 'windlass_data.attempt_rest'::regclass)
  loop
    execute format('alter table %s validate constraint outside', v_table);
  end loop;
end
$$;
comment on function windlass._validate_rest() is 'Validate the constraint on the rest, where it was changed.';
