-- Close the time to come off, as one long day that ends with p_day, and begin a new one behind it; false if it cannot be done.
--
-- This is for a time to come that has so many rows that they cannot be moved while everybody waits: nobody was there to
-- make days, and jobs came in.  Its tables become those of p_day, and go as that day goes; the days inside it never get
-- tables.  Few rows from behind p_day move to the new time to come.  If they are not few, because many callers' clocks
-- run ahead, the long day ends later, by 30 days at most, as what is in it is kept until its end.
--
-- The tables are read while nobody waits, and under the lock nothing but what moves.  That they have no row outside the
-- long day is what PostgreSQL takes from their constraint `within`, for which it is said here; and it is true: they began
-- there, and all that lies behind the end was just taken out.  An older snapshot would not show all of that, so it is not
-- done with one.
-- definer: none
create function windlass._close_ahead(p_day date) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last date := greatest(p_day, windlass._ahead_end(5000));
  v_from uuid := windlass._ahead_from();
  v_to uuid := windlass_data.first_id((v_last + 1)::timestamp at time zone 'UTC');
  v_end uuid := windlass_data.first_id('2200-01-01Z');
  v_parent text;
  v_child text;
  v_index name;
  v_taken record;
begin
  if v_last > p_day + 30 or v_to >= v_end
     or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    return false;
  end if;
  perform windlass._validate_rest();
  alter table windlass_data.job_ahead validate constraint within;
  alter table windlass_data.attempt_ahead validate constraint within;
  lock table only windlass_data.job, only windlass_data.attempt in access exclusive mode;
  alter table windlass_data.job detach partition windlass_data.job_ahead;
  alter table windlass_data.attempt detach partition windlass_data.attempt_ahead;
  select t.jobs, t.attempts into v_taken from windlass._take_ahead(v_to, v_end) as t;
  perform set_config('windlass.ahead_from', v_from::text, true), set_config('windlass.ahead_to', v_to::text, true);
  foreach v_parent in array array['job', 'attempt'] loop
    v_child := v_parent || to_char(v_last, '_YYYYMMDD');
    execute format('alter table windlass_data.%I rename to %I', v_parent || '_ahead', v_child);
    execute format('alter table windlass_data.%I attach partition windlass_data.%I for values from (%L) to (%L)',
                   v_parent, v_child, v_from, v_to);
    execute format('alter table windlass_data.%I drop constraint within', v_child);
    execute format('drop index windlass_data.%I', v_parent || '_ahead_id');
    for v_index in
      select c.relname from pg_index as i join pg_class as c on c.oid = i.indexrelid
      where i.indrelid = ('windlass_data.' || v_child)::regclass and starts_with(c.relname, v_parent || '_ahead_')
    loop
      execute format('alter index windlass_data.%I rename to %I', v_index, replace(v_index, v_parent || '_ahead', v_child));
    end loop;
  end loop;
  perform set_config('windlass.ahead_from', '', true), set_config('windlass.ahead_to', '', true);
  perform windlass_data.add_ahead(v_to);
  perform windlass._put_back(v_taken.jobs, v_taken.attempts);
  return true;
end
$$;
comment on function windlass._close_ahead(date) is 'Close the time to come off as one long day.';
