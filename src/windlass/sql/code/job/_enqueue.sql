-- Enqueue a batch.  Returns one row per job in the order given.
--
-- The unique key decides between producers that use the same idempotency key: the second waits for the first to
-- commit or roll back.  A duplicate writes nothing.  Keys are taken in key order, so batches never deadlock.
-- p_held: the caller holds the limits on depth.
-- definer: none
create function windlass._enqueue(p_tenant uuid, p_jobs windlass_data.new_job[], p_held boolean default false)
returns table (ordinal integer, job_id uuid, created boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids uuid[] := array(select coalesce(n.id, windlass_data.new_id()) from unnest(p_jobs) as n);
  v_jobs windlass_data.new_job[] := p_jobs;  -- a variable is unpacked once, a parameter at each subscript
  v_lanes integer[];
  v_places integer[];                        -- the jobs to write now
  v_new uuid[];
  v_created boolean[];
  v_made integer[];                          -- the lanes of those that were written
  v_limited boolean;
begin
  perform pg_current_xact_id();  -- before the clock and the first place in line: see survey_lanes
  perform windlass._check_new_jobs(p_jobs);
  v_lanes := windlass._lane_ids(p_tenant, p_jobs);
  if array_position(v_lanes, null) is not null then
    perform windlass._make_lanes(p_tenant, p_jobs);
    v_lanes := windlass._lane_ids(p_tenant, p_jobs);
  end if;

  v_limited := exists (select from windlass_data.depth_limit);
  if v_limited and not p_held then
    perform windlass._hold_depth(v_lanes);
  end if;
  if not exists (select from unnest(p_jobs) as n where n.key is not null) then
    v_new := array(select windlass._insert_jobs(p_tenant, p_jobs, v_ids, v_lanes));
  else
    with held as (
      insert into windlass_data.idempotency_key as k (tenant_id, kind, key, job_id)
      select p_tenant, n.kind, n.key, i.id
      from unnest(p_jobs) with ordinality as n
      join unnest(v_ids) with ordinality as i(id, ordinality) using (ordinality)
      where n.key is not null
      order by n.kind, n.key, n.ordinality
      on conflict do nothing
      returning k.job_id
    )
    select array_agg(s.place order by s.place) into v_places
    from generate_subscripts(v_jobs, 1) as s(place)
    where v_jobs[s.place].key is null or v_ids[s.place] in (select h.job_id from held as h);
    v_new := array(select windlass._insert_jobs(
      p_tenant, array(select v_jobs[s.place] from unnest(v_places) as s(place)),
      array(select v_ids[s.place] from unnest(v_places) as s(place)),
      array(select v_lanes[s.place] from unnest(v_places) as s(place))));
  end if;

  if cardinality(v_new) = cardinality(v_ids) then
    v_made := v_lanes;
    return query select i.ordinality::integer, i.id, true from unnest(v_ids) with ordinality as i(id, ordinality);
  else
    select array_agg(i.place), array_agg(coalesce(r.job_id, i.id)), array_agg(coalesce(r.created, true)),
           array_agg(v_lanes[i.place]) filter (where coalesce(r.created, true))
    into v_places, v_ids, v_created, v_made
    from (
      select i.place::integer as place, i.id, row_number() over (partition by i.id order by i.place) > 1 as again
      from unnest(v_ids) with ordinality as i(id, place)
      join unnest(p_jobs) with ordinality as n on n.ordinality = i.place
      order by n.kind, n.key, i.place
    ) as i
    left join lateral windlass._resolve_duplicate(p_tenant, v_jobs[i.place], i.id) as r
      on i.again or i.id <> all (v_new);
    return query select a.* from unnest(v_places, v_ids, v_created) as a(place, id, created) order by 1;
  end if;
  if exists (select from unnest(p_jobs) as n where n.concurrency_key is not null) then
    perform windlass._join_key_lines(p_tenant, v_new);
  end if;
  if v_limited and v_made is not null then
    perform windlass._check_depth(v_made, true);
  end if;
  if v_made is not null then
    perform windlass._note_work(v_made);
    if exists (select from unnest(p_jobs) as n where coalesce(n.run_at <= windlass_data.clock(), true)) then
      perform windlass._wake(
        array(select distinct coalesce(n.queue, 'default') from unnest(p_jobs) as n), cardinality(p_jobs),
        array(select distinct n.kind from unnest(p_jobs) as n), p_tenant);
    end if;
  end if;
end
$$;
comment on function windlass._enqueue is 'Enqueue a batch of jobs for one tenant.';
