-- Put scheduled jobs that are due into line, in the order in which they fell due, about p_limit of them; p_from: the
-- caller knows that nothing was due before it.
--
-- Where more are due than that, each lane that has some gives its share: one tenant's flood holds up no other's job.
-- A new place in line each time: it lies behind everything that waits in its lane.  Locked rows are passed over
-- (their holder is moving or cancelling the job), so this never waits and never deadlocks; and where some were, others come
-- in their stead, so that nobody's open transaction holds up more than the jobs that it touched.
-- definer: none
create function windlass._promote_jobs(p_limit integer, p_from timestamptz default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_sort = off  -- whatever the statistics say, walk the index by time and not by lane
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_from timestamptz := coalesce(p_from, '-infinity');
  v_bound uuid := windlass_data.bound_tenant();  -- such a session touches no other tenant's jobs
  v_due integer;
  v_lanes integer[];
  v_share integer;
  v_keyed boolean := exists (select from windlass_data.key_line as k where not k.held);
  v_waiting record;
  v_moved record;
  v_passed uuid[] := '{}';
begin
  if v_keyed then
    perform windlass._park_due_keys(p_limit, v_from, v_now);
  end if;
  if exists (select from windlass_data.key_check) then
    perform windlass._call_keys(p_limit);
  end if;
  select array_agg(distinct d.lane_id), count(*) into v_lanes, v_due
  from (
    select s.lane_id from windlass_data.scheduled as s
    where s.run_at <= v_now and s.run_at >= v_from and (v_bound is null or s.tenant_id = v_bound)
    order by s.run_at limit p_limit) as d;
  if v_lanes is null then
    return;
  elsif v_due = p_limit then
    v_lanes := windlass._due_lanes(v_now);
  end if;
  v_share := ceil(p_limit::numeric / cardinality(v_lanes));

  loop
    select array_agg(d.tenant_id order by d.run_at, d.job_id) as tenants,
           array_agg(d.job_id order by d.run_at, d.job_id) as jobs
    into v_waiting
    from unnest(v_lanes) as l(id)
    cross join lateral (
      select s.tenant_id, s.job_id, s.run_at
      from windlass_data.scheduled as s
      where s.lane_id = l.id and s.run_at <= v_now and s.run_at >= v_from and (v_bound is null or s.tenant_id = v_bound)
        and s.job_id <> all (v_passed)
        and not (v_keyed and exists (
          select from windlass_data.key_line as k where k.tenant_id = s.tenant_id and k.job_id = s.job_id and not k.held))
      order by s.run_at
      limit v_share
      for update of s skip locked
    ) as d;
    exit when v_waiting.jobs is null;
    select l.lanes, l.passed into v_moved from windlass._line_up(v_waiting.tenants, v_waiting.jobs) as l;
    if v_moved.lanes is not null then
      perform windlass._note_work(v_moved.lanes);
    end if;
    exit when cardinality(v_moved.passed) = 0;
    v_passed := v_passed || v_moved.passed;
  end loop;
end
$$;
comment on function windlass._promote_jobs is 'Put scheduled jobs that are due into line.';
