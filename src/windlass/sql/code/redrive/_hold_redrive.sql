-- The redrive that this token runs, locked until the transaction ends; WL003 if the token does not hold its job.
--
-- The lease is shared: while this transaction is open no expiry takes it, so whatever a slice does, it did in time.  A lease
-- that cannot be shared at once is being expired.
-- definer: none
create function windlass._hold_redrive(p_token uuid, p_job uuid) returns windlass_data.redrive
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant uuid;
  v_row windlass_data.redrive;
begin
  perform from windlass_data.lease as l where l.id = p_token for key share skip locked;
  if found then
    select h.tenant_id into v_tenant
    from windlass._held_jobs(array[p_token]) as h
    where h.job_id = p_job and not exists (
      select from windlass_data.attempt as a
      where a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version);
  end if;
  if v_tenant is null then
    raise exception 'the lease on job % is lost', p_job using errcode = 'WL003';
  end if;
  select r.* into v_row from windlass_data.redrive as r where r.tenant_id = v_tenant and r.id = p_job for no key update;
  if not found then
    raise exception 'job % is no redrive', p_job using errcode = 'WL001';
  end if;
  return v_row;
end
$$;
comment on function windlass._hold_redrive(uuid, uuid) is 'The redrive that this token runs, locked.';
