-- Put a job with a key that has another time or priority where it belongs: one that has its turn keeps it, any other lines
-- up anew.  The caller holds the job row.
-- definer: none
create function windlass._rejoin_key_line(p_tenant uuid, p_job uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from windlass_data.key_line as k where k.tenant_id = p_tenant and k.job_id = p_job and not k.held;
  if found then
    perform windlass._join_key_lines(p_tenant, array[p_job]);
  end if;
end
$$;
comment on function windlass._rejoin_key_line is 'Put a job where it belongs in the line of its key.';
