-- Claim up to p_limit jobs for a node, for p_lease_seconds.  Each row carries the token (one for each turn of a lane)
-- that must accompany every later word about the job, and the version, which rises with each claim of it.
-- A worker that claims again and again may tell what it knows (see survey_lanes): p_marks are the places in line of
-- p_lanes up to which there is nothing for it, and flows take their turns in the order of p_lanes.  With p_only it looks
-- at no other lanes, and neither promotes nor recovers anything.  p_since: what was due or had expired before then was
-- seen to already; null looks at all.  Finding nothing, it looks for expired leases.  Finding less than was asked for, and
-- less than ten, with p_wait it notes that this node wants to be told of new work; one that finds more takes that back, and
-- one without p_wait in any case; null leaves it as it is.
-- With p_begins it will say of each last attempt when it begins it (see begin_jobs): one that dies unbegun does not count.
-- With p_hint, where a rate holds jobs back, a last row without a job says when to ask again, also as microseconds in seq.
-- definer: engine
-- grant: worker
create function windlass.claim_jobs(
  p_node uuid, p_queues text[], p_kinds text[] default null, p_limit integer default 1,
  p_lease_seconds double precision default 30, p_wait boolean default false, p_lanes integer[] default null,
  p_marks bigint[] default null, p_only boolean default false, p_since timestamptz default null, p_hint boolean default false,
  p_begins boolean default false
) returns table (
  job_id uuid, tenant_id uuid, queue text, kind text, priority integer, payload jsonb, token uuid, version integer,
  counted integer, max_attempts integer, expires_at timestamptz, timeout_ms integer, trace_id text,
  correlation_id text, created_at timestamptz, lane_id integer, seq bigint
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_memoize = off
as $$
declare
  -- A lone job waits for each line that is passed here: what is rare is looked at only when it is there.
  v_now timestamptz := windlass_data.clock();
  v_bound boolean := false; v_limited boolean := false; v_said boolean; v_again boolean := false;
  v_due boolean; v_waits integer; v_busy integer[];
  v_took record; v_lane boolean; v_by_lease boolean; v_count integer; v_range record;
begin
  if windlass._is_bad_claim(p_node, p_queues, p_limit, p_lease_seconds, p_lanes, p_marks, p_only) then
    raise exception 'a claim needs a node, queues, a limit to 10000, a lease from 0.1 s to a day, and a mark for each lane'
      using errcode = 'WL007';
  end if;
  select o.* into v_said, v_due, v_waits, v_busy
  from windlass._look_around(p_node, p_queues, p_kinds, v_now, p_since, p_wait is not null) as o;
  if v_said then
    select c.* into v_bound, v_limited, v_said from windlass._look_closer(p_node, p_queues) as c;
    if v_bound then p_wait := windlass._is_own_node(p_node) and p_wait; end if;  -- an invented one would hear what is not for it
  end if;
  if v_due and not p_only then
    perform windlass._promote_jobs(greatest(p_limit, 100), p_since);
    v_busy := array(select b.lane_id from windlass._busy_lanes(p_queues, p_kinds) as b);  -- also where others were due
  end if;
  loop
    v_lane := not (p_only or v_said or v_limited or v_bound or cardinality(v_busy) > 2
                   or v_busy[1] is distinct from v_busy[cardinality(v_busy)]);
    v_by_lease := v_lane;
    if v_lane then  -- one line, perhaps listed twice, and nothing was said of anything: nobody takes turns
      v_took := windlass._take_lane(
        p_node, v_busy[1], coalesce(p_marks[array_position(p_lanes, v_busy[1])], 0), p_limit, p_lease_seconds, p_begins);
    elsif p_only then
      v_took := windlass._take_lanes(p_node, p_queues, p_kinds, p_lanes, p_marks, p_limit, v_now, p_lease_seconds,
                                     v_said or v_bound, v_limited, p_begins);
      v_by_lease := v_took.jobs is not null;
    end if;
    if not v_by_lease then
      v_took := windlass._take_open(
        p_node, p_queues, p_kinds, p_limit, v_now, p_lease_seconds, p_lanes, p_marks, p_only, v_limited, not v_again, p_begins);
    end if;
    v_count := coalesce(cardinality(v_took.jobs), 0);
    exit when v_count > 0 or p_only or v_again;
    exit when not exists (select from windlass.expire_leases(
      greatest(p_limit, 100), case when p_since is not null then interval '1 minute' end));
    v_busy := array(select b.lane_id from windlass._busy_lanes(p_queues, p_kinds) as b);
    v_again := true;
  end loop;
  if v_count = 1 and v_lane then
    return query select * from windlass._read_one(
      v_took.tokens[1], v_busy[1], v_took.tenant, v_took.jobs[1], v_took.version, v_took.tries, v_took.ends);
  elsif v_count > 0 then
    v_range := windlass._id_range(v_took.jobs);
    -- A statement of its own: the one that takes does not see jobs that were committed after it began.
    if v_by_lease then
      return query select * from windlass._read_leases(v_took.tokens, v_range.first, v_range.last);
    else
      return query select * from windlass._read_turns(
        v_took.tokens, v_took.tenants, v_took.lanes, v_took.jobs, v_took.versions, v_took.counted, v_took.ends,
        v_range.first, v_range.last);
    end if;
  end if;
  if v_limited and p_hint and v_count < p_limit then
    expires_at := windlass._next_room(v_took.open, v_now);
    if expires_at is not null then
      seq := extract(epoch from expires_at - v_now) * 1000000;
      return next;
    end if;
  end if;
  if v_waits <> (p_wait and v_count < least(p_limit, 10))::integer * cardinality(p_queues) then
    perform windlass._set_waiting(p_node, p_queues, p_wait and v_count < least(p_limit, 10));
  end if;
end
$$;
comment on function windlass.claim_jobs is 'Claim jobs for a node; returns them with their leases.';
