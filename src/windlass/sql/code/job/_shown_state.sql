-- A state as people see it: a queued job may be retrying or scheduled.  One that is parked (its time is infinity) waits for
-- something else than time, and is shown as queued.
-- definer: none
create function windlass._shown_state(p_state text, p_counted integer, p_run_at timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_state <> 'queued' then p_state
              when p_counted > 0 then 'retrying'
              when p_run_at > windlass_data.clock() and isfinite(p_run_at) then 'scheduled'
              else 'queued' end
$$;
comment on function windlass._shown_state is 'A state as people see it.';
