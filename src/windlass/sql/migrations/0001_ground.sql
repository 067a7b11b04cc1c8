-- What all other state stands on: the clock, ids, and the rights that every table and sequence to come is made with.

alter default privileges in schema windlass_data grant select, insert, update, delete on tables to windlass_engine;
alter default privileges in schema windlass_data grant usage, select on sequences to windlass_engine;
grant usage on schema windlass_data to windlass_engine;
grant select, insert, update, delete on all tables in schema windlass_data to windlass_engine;

-- The only clock.  Tests replace this function to move time; nothing reads the clock by another way.
-- No search_path is pinned on this one and on new_id(): a function with a setting cannot be inlined, and these two
-- are called for every row.  All their names are qualified instead.
create function windlass_data.clock() returns timestamptz
language sql volatile parallel safe
as 'select pg_catalog.clock_timestamp()';
comment on function windlass_data.clock() is 'The time, as every decision of Windlass sees it.';

-- UUID version 7: time-ordered, so that new rows lie together.  Built in from PostgreSQL 18 on; the one made here
-- for older servers is ordered to the millisecond.
do $new_id$
begin
  if exists (select from pg_catalog.pg_proc where proname = 'uuidv7' and pronamespace = 'pg_catalog'::regnamespace) then
    execute $sql$
      create function windlass_data.new_id() returns uuid
      language sql volatile parallel safe
      as 'select pg_catalog.uuidv7()' $sql$;
  else
    execute $sql$
      create function windlass_data.new_id() returns uuid
      language sql volatile parallel safe
      as $body$
        select pg_catalog.encode(
          pg_catalog.set_bit(pg_catalog.set_bit(pg_catalog.overlay(
            pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
            pg_catalog.substring(pg_catalog.int8send(
              pg_catalog.int8(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000)), 3),
            1, 6), 52, 1), 53, 1),
          'hex')::pg_catalog.uuid
      $body$ $sql$;
  end if;
end
$new_id$;
comment on function windlass_data.new_id() is 'A time-ordered UUID (version 7).';
