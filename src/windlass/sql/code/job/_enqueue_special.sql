-- Enqueue one job of which something is special, new or wrong: a key, a time, a lane that is not there, an id that is taken.
-- definer: owner
create function windlass._enqueue_special(p_tenant uuid, p_job windlass_data.new_job, p_actor text)
returns table (job_id uuid, created boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_actor text;
begin
  perform windlass._refuse_reserved(p_job.queue, p_job.kind);
  if p_actor is not null then
    v_actor := windlass._act_as(p_actor);
  end if;
  select e.job_id, e.created into job_id, created from windlass._enqueue(p_tenant, array[p_job]) as e;
  perform set_config('windlass.tenant_id', v_before, true);
  if p_actor is not null then
    perform set_config('windlass.actor', v_actor, true);
  end if;
  return next;
end
$$;
comment on function windlass._enqueue_special(uuid, windlass_data.new_job, text) is 'Enqueue one job that is not plain.';
