-- Give dead jobs that are to be revived their idempotency keys back, and return the jobs that may go.
--
-- The holder of a key may have ended long ago and given it up in the `active` scope.  Where another job that has not
-- ended holds it now, two would be under way with one key: such a job is refused if it was named, else left out.
-- definer: none
create function windlass._retake_keys(p_tenant uuid, p_jobs uuid[], p_named boolean, p_dry_run boolean) returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job record;
  v_holder uuid;
  v_taken uuid[] := '{}';
  v_refused uuid[] := '{}';
begin
  for v_job in
    select j.id, l.kind, j.idempotency_key as key
    from windlass_data.job as j
    join windlass_data.lane as l on l.id = j.lane_id
    where j.tenant_id = p_tenant and j.id = any (p_jobs) and j.idempotency_key is not null
    order by l.kind, j.idempotency_key, j.id desc
  loop
    loop
      if not p_dry_run then
        insert into windlass_data.idempotency_key (tenant_id, kind, key, job_id)
        values (p_tenant, v_job.kind, v_job.key, v_job.id)
        on conflict do nothing;
      end if;
      select k.job_id into v_holder
      from windlass_data.idempotency_key as k
      where k.tenant_id = p_tenant and k.kind = v_job.kind and k.key = v_job.key
      for no key update;
      exit when found or p_dry_run;  -- else whoever had it gave it up between the two
    end loop;
    if v_holder <> v_job.id and (v_holder = any (v_taken) or exists (
      select from windlass._describe_jobs(p_tenant, array[v_holder]) as d where d.state in ('blocked', 'queued', 'running')
    )) then
      if p_named then
        raise exception 'the idempotency key of job % is held by job %, which has not ended', v_job.id, v_holder
          using errcode = 'WL002';
      end if;
      v_refused := v_refused || v_job.id;
    else
      v_taken := v_taken || v_job.id;
      if not p_dry_run then  -- also where it holds the key: a snapshot that still sees it dead must not take the key
        update windlass_data.idempotency_key as k
        set job_id = v_job.id
        where k.tenant_id = p_tenant and k.kind = v_job.kind and k.key = v_job.key;
      end if;
    end if;
  end loop;
  return array(select j.id from unnest(p_jobs) as j(id) where j.id <> all (v_refused));
end
$$;
comment on function windlass._retake_keys is 'Give dead jobs their idempotency keys back before they are revived.';
