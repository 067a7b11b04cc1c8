-- Claim up to p_limit jobs for a node, for p_lease_seconds.  Each row carries the token (one per lane and claim)
-- that must accompany every later word about the job, and the version, which rises with each claim of it.
-- A worker that claims again and again may tell what it knows (see survey_lanes): p_marks are the places in line of
-- p_lanes up to which there is nothing for it, and flows take their turns in the order of p_lanes.  With p_only it looks
-- at no other lanes, and neither promotes nor recovers anything.  p_since: what was due or had expired before then was
-- seen to already; null looks at all.  Finding nothing, it looks for expired leases.  Finding less than was asked for, and
-- less than ten, with p_wait it notes that this node wants to be told of new work; one that finds more takes that back.
-- With p_hint, where a rate holds jobs back, a last row without a job says when to ask again, also as microseconds in seq.
-- definer: engine
-- grant: worker
create function windlass.claim_jobs(
  p_node uuid, p_queues text[], p_kinds text[] default null, p_limit integer default 1,
  p_lease_seconds double precision default 30, p_wait boolean default false, p_lanes integer[] default null,
  p_marks bigint[] default null, p_only boolean default false, p_since timestamptz default null, p_hint boolean default false
) returns table (
  job_id uuid, tenant_id uuid, queue text, kind text, priority integer, payload jsonb, token uuid, version integer,
  counted integer, max_attempts integer, expires_at timestamptz, timeout_ms integer, trace_id text,
  correlation_id text, created_at timestamptz, lane_id integer, seq bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_lease interval;
  v_look record;  -- what most claims find nothing of, so that they ask once
  v_count integer;
  v_taken record;
  v_first uuid;
  v_last uuid;
begin
  if windlass._is_bad_claim(p_node, p_queues, p_limit, p_lease_seconds, p_lanes, p_marks, p_only) then
    raise exception 'a claim needs a node, queues, a limit to 10000, a lease from 0.1 s to a day, and a mark for each lane'
      using errcode = 'WL007';
  end if;
  v_lease := make_interval(secs => p_lease_seconds);
  select exists (select from windlass_data.role_tenant) as bound,
         exists (select from windlass_data.job_limit as m where m.claims) as limited,
         exists (select from windlass_data.key_check)
         or exists (select from windlass_data.scheduled as s
                    where s.run_at <= v_now and s.run_at >= coalesce(p_since, '-infinity') order by s.run_at limit 1) as due,
         (select count(*) from windlass_data.waiting as w where w.node_id = p_node and w.queue = any (p_queues)) as waits,
         gated or weighed or special or draining or 'windlass.cluster' = any (p_queues) as said,
         array(select b.lane_id from windlass_data.busy_lane as b
               where b.queue = any (p_queues) and (p_kinds is null or b.kind = any (p_kinds)) limit 3) as lanes
  into v_look from windlass._said_of(p_node, p_queues);
  if v_look.bound then
    p_wait := windlass._is_own_node(p_node) and p_wait;  -- an invented node would hear what is for others
  end if;
  if v_look.due and not p_only then
    perform windlass._promote_jobs(greatest(p_limit, 100), p_since);
  end if;
  for v_round in 1..2 loop
    if v_look.lanes[1] = v_look.lanes[cardinality(v_look.lanes)] and cardinality(v_look.lanes) < 3
       and not (v_look.said or v_look.limited or v_look.bound or v_look.due or p_only) then
      -- One line, perhaps listed twice, and nothing was said of anything: nobody takes turns.
      select t.*, v_look.lanes as open into v_taken from windlass._take_lane(
        p_node, v_look.lanes[1], coalesce(p_marks[array_position(p_lanes, v_look.lanes[1])], 0), p_limit, v_now, v_lease) as t;
    else
      select t.* into v_taken from windlass._take_open(
        p_node, p_queues, p_kinds, p_limit, v_now, v_lease, p_lanes, p_marks, p_only, v_look.limited, v_round = 1) as t;
    end if;
    v_count := coalesce(cardinality(v_taken.jobs), 0);
    exit when v_count > 0 or p_only
      or not exists (select from windlass.expire_leases(
        greatest(p_limit, 100), case when p_since is not null then interval '1 minute' end));
    v_look.due := true;  -- what was recovered may stand in other lanes
  end loop;
  select r.first, r.last into v_first, v_last from windlass._id_range(v_taken.jobs) as r;
  -- A statement of its own: the one that takes does not see jobs that were committed after it began.
  return query
  select j.id, j.tenant_id, l.queue, l.kind, l.priority::integer, j.payload, t.token, t.version, t.counted,
         j.max_attempts::integer, v_now + v_lease, j.timeout_ms,
         coalesce(j.trace_id, replace(j.id::text, '-', '')), j.correlation_id, j.created_at, t.lane_id, t.seq
  from unnest(v_taken.tokens, v_taken.tenants, v_taken.lanes, v_taken.jobs, v_taken.versions, v_taken.counted,
              v_taken.seqs) with ordinality as t(token, tenant_id, lane_id, job_id, version, counted, seq, turn)
  cross join lateral (
    select j.* from windlass_data.job as j
    where j.tenant_id = t.tenant_id and j.id = t.job_id and j.id between v_first and v_last
    offset 0
  ) as j  -- `offset 0` keeps these look-ups per job, never a scan of all jobs or lanes
  cross join lateral (
    select l.queue, l.kind, l.priority from windlass_data.lane as l where l.id = t.lane_id offset 0
  ) as l
  order by t.turn;
  expires_at := case when p_hint and v_look.limited and v_count < p_limit then windlass._next_room(v_taken.open, v_now) end;
  if expires_at is not null then
    seq := extract(epoch from expires_at - v_now) * 1000000;
    return next;
  end if;
  p_wait := p_wait and v_count < least(p_limit, 10);
  if v_look.waits <> p_wait::integer * cardinality(p_queues) then
    perform windlass._set_waiting(p_node, p_queues, p_wait);
  end if;
end
$$;
comment on function windlass.claim_jobs is 'Claim jobs for a node; returns them with their leases.';
