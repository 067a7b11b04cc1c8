-- Claim up to p_limit parts that wait for this node, for p_lease_seconds.  Each row carries the token that must accompany
-- every later word about the part, and the version, which rises with each claim of it.
--
-- A gate on the tenant, the kind, the node or the queue windlass.cluster holds parts as it holds jobs.
-- definer: engine
-- grant: worker
create function windlass.claim_parts(
  p_node uuid, p_kinds text[] default '{}', p_limit integer default 1, p_lease_seconds double precision default 10)
returns table (
  job_id uuid, tenant_id uuid, kind text, payload jsonb, token uuid, version integer, counted integer,
  max_attempts integer, expires_at timestamptz, trace_id text, correlation_id text, created_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := windlass_data.clock();
  v_names text[] := array(select n.name from windlass_data.node as n where n.id = p_node) || p_node::text;
begin
  perform windlass._require_unbound();
  if p_node is null or coalesce(p_limit, 0) not between 1 and 10000
     or p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400 then
    raise exception 'a claim needs a node, a limit from 1 to 10000 and a lease from 0.1 seconds to a day'
      using errcode = 'WL007';
  end if;
  return query
  with due as materialized (
    select p.tenant_id, p.job_id from windlass_data.cluster_part as p
    where p.node_id = p_node and p.state = 'queued' and p.run_at <= v_now and p.kind = any (p_kinds)
      and not exists (select from windlass._gates_on(p.tenant_id, 'windlass.cluster', p.kind, v_names, v_now))
    order by p.run_at, p.job_id
    limit p_limit
    for update skip locked
  ), taken as (
    update windlass_data.cluster_part as p
    set state = 'running', version = p.version + 1, token = gen_random_uuid(), claimed_at = v_now,
        expires_at = v_now + make_interval(secs => p_lease_seconds)
    from due as d
    where p.tenant_id = d.tenant_id and p.job_id = d.job_id and p.node_id = p_node
    returning p.*
  ), recorded as (
    insert into windlass_data.event as e (tenant_id, at, actor, action, job_id, details)
    select t.tenant_id, v_now, p_node::text, 'part.claimed', t.job_id,
           jsonb_build_object('node', t.node_name, 'part_attempt', t.version)
    from taken as t
    returning e as event
  ), noted as (
    insert into windlass_data.unsealed (tenant_id, event_id, digest)
    select (r.event).tenant_id, (r.event).id, windlass_data.event_digest(r.event) from recorded as r
  )
  select t.job_id, t.tenant_id, t.kind, j.payload, t.token, t.version, t.counted, c.part_max_attempts::integer,
         t.expires_at, coalesce(j.trace_id, replace(j.id::text, '-', '')), j.correlation_id, j.created_at
  from taken as t
  join windlass_data.cluster_job as c on c.tenant_id = t.tenant_id and c.job_id = t.job_id
  cross join lateral (
    select j.* from windlass_data.job as j where j.tenant_id = t.tenant_id and j.id = t.job_id offset 0
  ) as j
  order by t.run_at, t.job_id;
end
$$;
comment on function windlass.claim_parts is 'Claim the parts that wait for a node; returns them with their leases.';
