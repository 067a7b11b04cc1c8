-- Take a waiting job out of line, whichever line it waits in; null if it waits in none.  The caller holds the job row.
-- definer: none
create function windlass._leave_line(p_tenant uuid, p_job uuid, out version integer, out counted integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from windlass_data.ready as r
  using windlass_data.job as j
  where j.tenant_id = p_tenant and j.id = p_job
    and r.lane_id = j.lane_id and r.seq = j.seq and r.job_id = p_job
  returning r.version, r.counted into version, counted;
  if not found then
    delete from windlass_data.scheduled as s
    where s.tenant_id = p_tenant and s.job_id = p_job
    returning s.version, s.counted into version, counted;
  end if;
end
$$;
comment on function windlass._leave_line is 'Take a waiting job out of line.';
