-- Create a cluster job with one part for every member that knows its kind, in one transaction; only in the name of the
-- leader and its term, anybody else gets WL008 with the leader's address.  A duplicate writes nothing.  p_local: whether
-- there are parts; null leaves that to what the leader's application declares.
--
-- The term is checked when this runs, not when the caller commits: a lock would let an open transaction hold up the next
-- election.  A job that overlaps a change of leaders is complete all the same, and the next one takes it up.
-- definer: owner
-- grant: producer, operator
create function windlass.create_cluster_job(
  p_tenant uuid, p_kind text, p_payload jsonb default '{}', p_leader uuid default null, p_term bigint default null,
  p_local boolean default null, p_quorum text default 'majority', p_quorum_timeout_ms integer default 10000,
  p_on_timeout text default 'proceed', p_on_crash text default 'requeue', p_key text default null,
  p_scope text default 'active', p_priority integer default 0, p_max_attempts integer default 5,
  p_retry jsonb default null, p_timeout_ms integer default null, p_part_max_attempts integer default 5,
  p_part_retry jsonb default null, p_trace_id text default null, p_correlation_id text default null,
  p_id uuid default null, p_actor text default null)
returns table (job_id uuid, created boolean, parts integer, needed integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_actor text;
  v_now timestamptz := windlass_data.clock();
  v_term bigint;
  v_local boolean;
  v_new windlass_data.new_job;
begin
  if p_actor is not null then
    v_actor := windlass._act_as(p_actor);
  end if;
  perform windlass._check_cluster_job(
    p_quorum, p_quorum_timeout_ms, p_on_timeout, p_on_crash, p_part_max_attempts, p_part_retry);
  v_term := windlass._refuse_follower(p_leader, p_term);
  v_local := windlass._check_known(p_leader, p_kind);
  v_local := coalesce(p_local, v_local);
  v_new.id := p_id;
  v_new.kind := p_kind;
  v_new.payload := p_payload;
  v_new.queue := 'windlass.cluster';
  v_new.priority := p_priority;
  v_new.run_at := case when v_local then v_now + interval '1 day' end;
  v_new.max_attempts := p_max_attempts;
  v_new.retry := p_retry;
  v_new.timeout_ms := p_timeout_ms;
  v_new.key := p_key;
  v_new.scope := p_scope;
  v_new.trace_id := p_trace_id;
  v_new.correlation_id := p_correlation_id;
  select e.job_id, e.created into job_id, created from windlass._enqueue(p_tenant, array[v_new]) as e;
  if created then
    if v_local then
      perform windlass._park_job(p_tenant, job_id);
    end if;
    select m.parts, m.needed into parts, needed
    from windlass._make_parts(p_tenant, job_id, p_kind, v_local, p_quorum) as m;
    insert into windlass_data.cluster_job as c
      (tenant_id, job_id, term, parts, needed, on_timeout, on_crash, part_max_attempts, part_retry, quorum_timeout_ms,
       deadline_at, settled_at, verdict)
    values (p_tenant, job_id, v_term, parts, needed, p_on_timeout, p_on_crash, p_part_max_attempts, p_part_retry,
            p_quorum_timeout_ms, case when v_local then v_now + p_quorum_timeout_ms * interval '1 ms' end,
            case when not v_local then v_now end, case when not v_local then 'quorum' end);
    perform windlass._record(
      p_tenant, 'cluster.create', job_id, null, null,
      jsonb_build_object('term', v_term, 'parts', parts, 'needed', needed));
    if not v_local then
      perform pg_notify('windlass', p_leader::text);
    end if;
  else
    select c.parts, c.needed into parts, needed
    from windlass_data.cluster_job as c where c.tenant_id = p_tenant and c.job_id = create_cluster_job.job_id;
  end if;
  return next;
  perform set_config('windlass.tenant_id', v_before, true);
  if p_actor is not null then
    perform set_config('windlass.actor', v_actor, true);
  end if;
end
$$;
comment on function windlass.create_cluster_job is 'Create a cluster job with a part for every member that knows its kind.';
