-- The leader's action of a job begins: note the term, and hand over what the parts came to.
--
-- The token must hold the job (WL003) and its node must lead (WL008).  Once another node leads, the lease is ended there,
-- so no word of this attempt counts any more; the term is for fencing what the action writes elsewhere.
-- definer: engine
-- grant: worker
create function windlass.begin_action(p_token uuid, p_job uuid)
returns table (term bigint, needed integer, verdict text, warning text, parts jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_held record;
  v_term bigint;
  v_job windlass_data.cluster_job;
begin
  perform windlass._require_unbound();
  select h.tenant_id, h.node_id, h.version into v_held
  from windlass._held_jobs(array[p_token]) as h
  where h.job_id = p_job and not exists (
    select from windlass_data.attempt as a
    where a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version);
  if not found then
    raise exception 'the lease on job % is lost', p_job using errcode = 'WL003';
  end if;
  v_term := windlass._refuse_follower(v_held.node_id);
  update windlass_data.cluster_job as c
  set action_term = v_term, deadline_at = null, settled_at = coalesce(c.settled_at, windlass_data.clock()),
      verdict = coalesce(c.verdict, 'forced'),
      warning = case when c.verdict is null then 'the action was begun before it was decided about the parts'
                     else c.warning end
  where c.tenant_id = v_held.tenant_id and c.job_id = p_job
  returning c.* into v_job;
  if not found then
    raise exception 'job % is no cluster job', p_job using errcode = 'WL001',
      hint = 'A job of this kind is created by create_cluster_job, or by `windlass cluster create`.';
  end if;
  perform windlass._record(
    v_held.tenant_id, 'cluster.action', p_job, v_job.warning, v_held.node_id::text,
    jsonb_build_object('term', v_term, 'attempt', v_held.version));
  return query select v_term, v_job.needed, v_job.verdict, v_job.warning, windlass._parts_of(v_held.tenant_id, p_job);
end
$$;
comment on function windlass.begin_action is 'The leader''s action of a job begins; returns its term and the parts.';
