-- Let the rest have rows up to where the time to come begins, if it could not have those before p_upto.
--
-- Nothing is read: all that is there meets the new constraint, as it is wider.  PostgreSQL does not know that before
-- somebody validates it, which _make_days does before it takes the lock that everybody waits behind.
-- definer: none
create function windlass._widen_rest(p_upto uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rest record;
begin
  for v_rest in
    select c.conrelid::regclass as name, a.attname as id, pg_get_constraintdef(c.oid) as says
    from pg_constraint as c
    join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.conname = 'outside' and c.conrelid in ('windlass_data.job_rest'::regclass, 'windlass_data.attempt_rest'::regclass)
  loop
    if substring(v_rest.says from $re$< '([0-9a-f-]{36})'$re$)::uuid < p_upto then
      execute format('alter table %s drop constraint outside, add constraint outside check (%I < %L or %I >= %L) not valid',
                     v_rest.name, v_rest.id, windlass._ahead_from(), v_rest.id, windlass_data.first_id('2200-01-01Z'));
    end if;
  end loop;
end
$$;
comment on function windlass._widen_rest(uuid) is 'Let the rest have rows of days that are gone.';
