-- Enqueue one job of which something is special, new or wrong: a key, a lane that is not there, an id that is taken.
--
-- Said again with the id of a job that is there it waits for nobody, and asks for no room under any limit.
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
  if p_job.key is null and windlass._is_there(p_tenant, p_job.id) then
    perform windlass._check_new_jobs(array[p_job]);
    select r.job_id, r.created into job_id, created from windlass._resolve_duplicate(p_tenant, p_job, p_job.id) as r;
    if created then  -- what was there a moment ago was removed just now
      perform windlass._note_work(windlass._lane_ids(p_tenant, array[p_job]));
    end if;
  else
    select e.job_id, e.created into job_id, created from windlass._enqueue(p_tenant, array[p_job]) as e;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
  if p_actor is not null then
    perform set_config('windlass.actor', v_actor, true);
  end if;
  return next;
end
$$;
comment on function windlass._enqueue_special(uuid, windlass_data.new_job, text) is 'Enqueue one job that is not plain.';
