-- Claim up to p_limit jobs for a node, for p_lease_seconds.  Each row carries the token (one per lane and claim)
-- that must accompany every later word about the job, and the version, which rises with each claim of it.
--
-- Finding nothing, it looks for expired leases: recovery needs no reaper.  Still finding nothing, with p_wait, it
-- notes that this node wants to be told of new work; a claim that finds some takes that back.
-- definer: engine
-- grant: worker
create function windlass.claim_jobs(
  p_node uuid,
  p_queues text[],
  p_kinds text[] default null,
  p_limit integer default 1,
  p_lease_seconds double precision default 30,
  p_wait boolean default false
) returns table (
  job_id uuid, tenant_id uuid, queue text, kind text, priority integer, payload jsonb, token uuid, version integer,
  counted integer, max_attempts integer, expires_at timestamptz, timeout_ms integer, trace_id text,
  correlation_id text, created_at timestamptz
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_lease interval;
  v_count integer;
  v_open integer[];
  v_priorities integer[];
  v_flows text[];
  v_tokens uuid[];
  v_tenants uuid[];
  v_lanes integer[];
  v_jobs uuid[];
  v_versions integer[];
  v_counted integer[];
begin
  if p_node is null or p_queues is null or array_position(p_queues, null) is not null
     or coalesce(p_limit, 0) < 1 or p_limit > 10000 then
    raise exception 'a claim needs a node, its queues and a limit from 1 to 10000' using errcode = 'WL007';
  elsif p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400 then
    raise exception 'a lease lasts from 0.1 seconds to a day' using errcode = 'WL007';
  end if;
  v_lease := make_interval(secs => p_lease_seconds);
  select array_agg(o.lane_id), array_agg(o.priority), array_agg(o.flow) into v_open, v_priorities, v_flows
  from windlass._open_lanes(p_node, p_queues, p_kinds) as o;
  perform windlass._promote_jobs(v_open, greatest(p_limit, 100));
  for v_round in 1..2 loop
    select array_agg(t.token), array_agg(t.tenant_id), array_agg(t.lane_id), array_agg(t.job_id),
           array_agg(t.version), array_agg(t.counted)
    into v_tokens, v_tenants, v_lanes, v_jobs, v_versions, v_counted
    from windlass._take_ready(p_node, v_open, v_priorities, v_flows, p_limit, v_now, v_lease) as t;
    v_count := coalesce(cardinality(v_jobs), 0);
    exit when v_count > 0 or not exists (select from windlass.expire_leases(greatest(p_limit, 100)));
  end loop;
  -- A statement of its own: it sees all that was taken.  In the one that takes, a job that was committed after that
  -- statement began would be leased and yet not be returned.
  return query
  select j.id, j.tenant_id, l.queue, l.kind, l.priority::integer, j.payload, t.token, t.version, t.counted,
         j.max_attempts::integer, v_now + v_lease, j.timeout_ms,
         coalesce(j.trace_id, replace(j.id::text, '-', '')), j.correlation_id, j.created_at
  from unnest(v_tokens, v_tenants, v_lanes, v_jobs, v_versions, v_counted) with ordinality
    as t(token, tenant_id, lane_id, job_id, version, counted, turn)
  cross join lateral (
    select j.* from windlass_data.job as j where j.tenant_id = t.tenant_id and j.id = t.job_id offset 0
  ) as j  -- `offset 0` keeps these look-ups per job, never a scan of all jobs or lanes
  cross join lateral (
    select l.queue, l.kind, l.priority from windlass_data.lane as l where l.id = t.lane_id offset 0
  ) as l
  order by t.turn;
  perform windlass._set_waiting(p_node, p_queues, p_wait and v_count = 0);
end
$$;
comment on function windlass.claim_jobs is 'Claim jobs for a node; returns them with their leases.';
