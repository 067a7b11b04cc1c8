-- Lock dead jobs against every other move: their job rows, then the attempts that ended them, each in the order of the ids.
-- Whoever calls looks again: some may be alive by now, or have died once more.
-- definer: none
create function windlass._lock_dead_jobs(p_tenant uuid, p_jobs uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from windlass_data.job as j
  where j.tenant_id = p_tenant and j.id = any (p_jobs)
  order by j.id
  for no key update;
  perform from windlass_data.attempt as a
  where a.tenant_id = p_tenant and a.job_id = any (p_jobs) and a.ends = 'dead'
  order by a.job_id
  for no key update;
end
$$;
comment on function windlass._lock_dead_jobs is 'Lock dead jobs against every other move.';
