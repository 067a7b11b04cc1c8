-- The time as Windlass sees it, for callers that say "in an hour" or ask whether a job is due.
--
-- windlass_data.clock() itself is closed to them.  Not now(), which stands still in a transaction and does not follow
-- a test that moves the clock.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.clock() returns timestamptz
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  select windlass_data.clock()
$$;
comment on function windlass.clock() is 'The time by which every job is due, leased and kept.';
