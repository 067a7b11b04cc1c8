-- Make the tables of a day; false if that has to wait.
--
-- Ids made by a clock that runs ahead may have put jobs of the day into the rest, where they would keep its tables from
-- ever being made; a few are moved.  Everybody waits behind the lock asked for here, hence for 50 ms at most; and where
-- the rest has many jobs of the day it is not even asked for, because it would be held while they are read.
-- definer: none
create function windlass._make_day(p_day date) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '50ms'
as $$
declare
  v_from uuid := windlass_data.first_id(p_day::timestamp at time zone 'UTC');
  v_to uuid := windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC');
  v_size integer := windlass._rest_size(v_from, v_to, 1001);
  v_rest record;
  v_made boolean;
begin
  if v_size = 0 then
    return windlass_data.add_day(p_day);
  elsif v_size > 1000 then
    return false;
  end if;
  lock table only windlass_data.job, only windlass_data.attempt in access exclusive mode;
  select t.jobs, t.attempts into v_rest from windlass._take_rest(v_from, v_to) as t;
  v_made := windlass_data.add_day(p_day);
  perform windlass._put_back(v_rest.jobs, v_rest.attempts);
  return v_made;
exception
  when lock_not_available or deadlock_detected then
    return false;
end
$$;
comment on function windlass._make_day(date) is 'Make the tables of a day, if they can be made now.';
