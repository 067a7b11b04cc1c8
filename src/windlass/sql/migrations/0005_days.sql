-- State of the days: job and attempt have a table for each, so that old ones are dropped and not deleted.

-- What falls outside every day: ids that are no times or were made by a clock far off, and rows kept longer than their day.
create table windlass_data.job_rest partition of windlass_data.job default;
create table windlass_data.attempt_rest partition of windlass_data.attempt default;
-- The rest is never dropped, so what goes from it is found by when it ended, past all that is kept for longer.
create index job_rest_ended on windlass_data.job_rest (ended_state, ended_at) where ended_state is not null;
create index attempt_rest_ended on windlass_data.attempt_rest (ends, finished_at) where ends is not null;
select windlass_data.wall_off(array['job_rest', 'attempt_rest'], p_by_tenant => false);

-- The smallest id that can be made at a moment: where a day's partition begins.
create function windlass_data.first_id(p_at timestamptz) returns uuid
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
comment on function windlass_data.first_id(timestamptz) is 'The smallest UUIDv7 of a moment.';

-- Make the partitions of one day (UTC).  A child is reached through its parent only: its own row-level security
-- has no tenant policy, so that a direct read finds nothing.  Returns false where the day is there already, or
-- where other tables already hold rows of it (nobody made it in time): they stay there, nothing is lost.
create function windlass_data.add_day(p_day date) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from uuid := windlass_data.first_id(p_day::timestamp at time zone 'UTC');
  v_to uuid := windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC');
  v_parent text;
  v_child text;
begin
  if to_regclass('windlass_data.job_' || to_char(p_day, 'YYYYMMDD')) is not null then
    return false;
  end if;
  foreach v_parent in array array['job', 'attempt'] loop
    v_child := v_parent || '_' || to_char(p_day, 'YYYYMMDD');
    execute format('create table windlass_data.%I partition of windlass_data.%I for values from (%L) to (%L)',
                   v_child, v_parent, v_from, v_to);
    perform windlass_data.wall_off(array[v_child], p_by_tenant => false);
  end loop;
  return true;
exception
  when check_violation or duplicate_table or invalid_object_definition then
    return false;
end
$$;
comment on function windlass_data.add_day(date) is 'Make the partitions of one day, if they can still be made.';

select windlass_data.add_day((windlass_data.clock() at time zone 'UTC')::date + d) from generate_series(0, 3) as d;

-- The time to come, from behind the last day made.  A new day is cut off from it (_make_days): making one out of the rest
-- would have PostgreSQL read all of the rest under an exclusive lock, to see that no row of it belongs there.  That it
-- need not look is what the constraint `outside` tells it: the rest ends where this time begins, or before.
-- A time to come that has itself grown large is closed off (_close_ahead): there `within` spares PostgreSQL the look.  It
-- refuses no row, as known_bound() names a bound only in the transaction that has just made sure of it, under the lock;
-- that is called immutable so that ATTACH asks it, and `within` is not valid before, so that no planner does.
create function windlass_data.known_bound(p_setting text, p_otherwise uuid) returns uuid
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(nullif(current_setting(p_setting, true), '')::uuid, p_otherwise)
$$;
comment on function windlass_data.known_bound(text, uuid) is 'What this transaction knows about the ids of the time to come.';

create function windlass_data.add_ahead(p_from uuid) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_to uuid := windlass_data.first_id('2200-01-01Z');
  v_part record;
begin
  for v_part in select * from (values ('job', 'id'), ('attempt', 'job_id')) as p(name, id) loop
    execute format($table$
      create table windlass_data.%1$I_ahead partition of windlass_data.%1$I for values from (%3$L) to (%4$L);
      alter table windlass_data.%1$I_ahead add constraint within check (
        %2$I >= windlass_data.known_bound('windlass.ahead_from', '00000000-0000-0000-0000-000000000000')
        and %2$I < windlass_data.known_bound('windlass.ahead_to', %4$L)) not valid;
      create index %1$I_ahead_id on windlass_data.%1$I_ahead (%2$I)
    $table$, v_part.name, v_part.id, p_from, v_to);
  end loop;
  create index job_ahead_ended on windlass_data.job_ahead (ended_state, ended_at) where ended_state is not null;
  create index attempt_ahead_ended on windlass_data.attempt_ahead (ends, finished_at) where ends is not null;
  perform windlass_data.wall_off(array['job_ahead', 'attempt_ahead'], p_by_tenant => false);
end
$$;
comment on function windlass_data.add_ahead(uuid) is 'Make the tables of the time to come.';

do $ahead$
declare
  v_from uuid := windlass_data.first_id((((windlass_data.clock() at time zone 'UTC')::date + 4)::timestamp at time zone 'UTC'));
  v_to uuid := windlass_data.first_id('2200-01-01Z');
begin
  perform windlass_data.add_ahead(v_from);
  execute format('alter table windlass_data.job_rest add constraint outside check (id < %L or id >= %L)', v_from, v_to);
  execute format('alter table windlass_data.attempt_rest add constraint outside check (job_id < %L or job_id >= %L)', v_from, v_to);
end
$ahead$;
