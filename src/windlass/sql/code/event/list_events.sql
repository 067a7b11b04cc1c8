-- The audit of a tenant, or of the installation (p_tenant the nil id), a page at a time, the largest id first: what was
-- done, and how each job ended, as job.succeeded, job.dead, job.canceled or job.skipped.  `place` is an event's in the chain.
--
-- A death is an event.  The other ends are read from attempts and jobs, not stored twice: they stand in the order of
-- their jobs' ids, events in that of their own.  So this is not the order of `at`: a job that ended late stands where it
-- was enqueued, and p_from finds it.  To order by `at` would take another index on every attempt.  Pages go on as those
-- of list_jobs do.
-- definer: owner
-- grant: operator, reader
create function windlass.list_events(
  p_tenant uuid, p_actor text default null, p_actions text[] default null, p_from timestamptz default null,
  p_to timestamptz default null, p_limit integer default 50, p_cursor text default null, p_job uuid default null)
returns table (
  id uuid, at timestamptz, actor text, action text, job_id uuid, reason text, details jsonb, cursor text, login text,
  place bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  perform windlass._check_page(p_limit, p_cursor, 'i');
  perform windlass._hold_days();
  return query
  select p.* from windlass._page_of_events(
    p_tenant, p_job, p_actor, p_actions, p_from, p_to, p_limit,
    coalesce(substr(p_cursor, 3)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')) as p;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.list_events is 'The audit of a tenant or of the installation, a page at a time.';
