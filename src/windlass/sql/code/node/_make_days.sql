-- Make the tables of these days, in their order and cut off from the beginning of the time to come; false if that has to wait.
--
-- Everybody waits behind the lock asked for here, hence for 50 ms at most, and what is done under it does not grow with
-- the rows of any table: of the rest PostgreSQL knows by its constraint that no row belongs to the days, and where the
-- time to come has many rows (nobody made days in time, or clocks run ahead) it is closed off instead, and the days behind
-- it are left to the next call.  Days between the time to come and the first one made, when nobody was there to make
-- them, are left to the rest.
-- definer: none
create function windlass._make_days(p_days date[]) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '50ms'
as $$
declare
  v_from uuid := windlass_data.first_id(p_days[1]::timestamp at time zone 'UTC');
  v_to uuid := windlass_data.first_id((p_days[cardinality(p_days)] + 1)::timestamp at time zone 'UTC');
  v_behind boolean := windlass._ahead_from() < v_from;
  v_day date;
  v_parent text;
  v_taken record;
begin
  if windlass._ahead_size(v_to, 5001) > 5000 then
    return windlass._close_ahead(p_days[1]);
  elsif windlass._ahead_size(windlass_data.first_id('2200-01-01Z'), 1000001) > 1000000 then
    return false;  -- ids that are no times: what lies behind the days is read under the lock, and that would take long
  end if;
  perform windlass._validate_rest();
  lock table only windlass_data.job, only windlass_data.attempt in access exclusive mode;
  alter table windlass_data.job detach partition windlass_data.job_ahead;
  alter table windlass_data.attempt detach partition windlass_data.attempt_ahead;
  foreach v_day in array p_days loop
    if not windlass_data.add_day(v_day) then
      raise exception 'the tables of % could not be made', v_day using errcode = 'WL004';
    end if;
  end loop;
  select t.jobs, t.attempts into v_taken from windlass._take_ahead(windlass_data.first_id('1970-01-01Z'), v_to) as t;
  foreach v_parent in array array['job', 'attempt'] loop
    execute format('alter table windlass_data.%I attach partition windlass_data.%I for values from (%L) to (%L)',
                   v_parent, v_parent || '_ahead', v_to, windlass_data.first_id('2200-01-01Z'));
  end loop;
  if v_behind then
    perform windlass._widen_rest(v_from);
  end if;
  perform windlass._put_back(v_taken.jobs, v_taken.attempts);
  return true;
exception
  when lock_not_available or deadlock_detected then
    return false;
end
$$;
comment on function windlass._make_days(date[]) is 'Make the tables of these days, if they can be made now.';
