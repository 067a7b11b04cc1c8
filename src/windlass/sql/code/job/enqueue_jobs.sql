-- Enqueue many jobs, all or none.  Each element is an object whose keys are the fields of windlass_data.new_job;
-- one row comes back for each, in the order given.
-- definer: owner
-- grant: producer, operator
create function windlass.enqueue_jobs(p_tenant uuid, p_jobs jsonb)
returns table (ordinal integer, job_id uuid, created boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_odd record;
  v_jobs windlass_data.new_job[];
begin
  if p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    raise exception 'the jobs must be an array of objects' using errcode = 'WL007';
  end if;
  select e.place, jsonb_typeof(e.value) as type,
         case jsonb_typeof(e.value) when 'object' then e.value - windlass._new_job_fields() end as extra
  into v_odd
  from jsonb_array_elements(p_jobs) with ordinality as e(value, place)
  where case jsonb_typeof(e.value) when 'object' then e.value - windlass._new_job_fields() <> '{}' else true end
  limit 1;
  if found then
    raise exception 'job % of the batch: %', v_odd.place, case v_odd.type
      when 'object' then 'unknown field ' || (select min(k) from jsonb_object_keys(v_odd.extra) as k)
      else 'is not an object' end
      using errcode = 'WL007';
  end if;
  begin
    v_jobs := array(
      select jsonb_populate_record(null::windlass_data.new_job, e.value)
      from jsonb_array_elements(p_jobs) with ordinality as e(value, place)
      order by e.place);
  exception when data_exception then
    raise exception 'a job of the batch has a field of the wrong type: %', sqlerrm using errcode = 'WL007';
  end;
  return query select e.ordinal, e.job_id, e.created from windlass._enqueue(p_tenant, v_jobs) as e;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.enqueue_jobs is 'Enqueue many jobs at once; returns the id of each and whether it is new.';
