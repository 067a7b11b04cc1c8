-- Enqueue many jobs, all or none.  Each element is an object whose keys are the fields of windlass_data.new_job;
-- one row comes back for each, in the order given.  With p_partial, jobs for which a limit on depth leaves no room are
-- left out, and come back without an id; without it they refuse the batch (WL006).
-- definer: owner
-- grant: producer, operator
create function windlass.enqueue_jobs(p_tenant uuid, p_jobs jsonb, p_partial boolean default false, p_actor text default null)
returns table (ordinal integer, job_id uuid, created boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_actor text;
begin
  if p_actor is not null then
    v_actor := windlass._act_as(p_actor);
  end if;
  if p_partial and exists (select from windlass_data.depth_limit) then
    return query
    select e.ordinal, e.job_id, e.created from windlass._enqueue_fitting(p_tenant, windlass._read_new_jobs(p_jobs)) as e;
  else
    return query
    select e.ordinal, e.job_id, e.created from windlass._enqueue(p_tenant, windlass._read_new_jobs(p_jobs)) as e;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  if p_actor is not null then
    perform set_config('windlass.actor', v_actor, true);
  end if;
end
$$;
comment on function windlass.enqueue_jobs is 'Enqueue many jobs at once; returns the id of each and whether it is new.';
