-- Refuse what was just put into these lanes, one element for each job, if more jobs wait now than a limit on their depth
-- allows.  Whoever enqueues under such a limit holds it until the commit; nobody else waits.  p_held: the caller holds them.
-- definer: engine
create function windlass._check_depth(p_lanes integer[], p_held boolean default false) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits integer[] := windlass._hold_depth(p_lanes, not p_held);
  v_new record;
  v_limit windlass_data.job_limit;
  v_waiting bigint;
  v_later double precision;  -- how long the limit's own rate takes to make the room
  v_shown bigint;  -- how many others wait is nobody's business who is bound to a tenant
begin
  for v_new in
    select d.limit_id, count(*) as jobs
    from windlass._limits_of(array(select distinct l from unnest(p_lanes) as l), true) as d
    join unnest(p_lanes) as l on l = d.lane_id
    where d.limit_id = any (v_limits)
    group by d.limit_id
    order by d.limit_id
  loop
    select m.* into v_limit from windlass_data.job_limit as m where m.id = v_new.limit_id;
    v_waiting := windlass._depth_of(v_limit.id, v_limit.depth + v_new.jobs);
    if v_waiting > v_limit.depth then
      v_shown := case when v_limit.tenant_id is not null or windlass_data.bound_tenant() is null
                      then v_waiting - v_new.jobs end;
      v_later := case when v_shown is null then v_new.jobs else v_waiting - v_limit.depth end
                 * v_limit.rate_seconds / v_limit.rate;
      raise exception 'at most % % of % may wait: % %, and % % to come', v_limit.depth,
        case v_limit.depth when 1 then 'job' else 'jobs' end, windlass._limit_scope(v_limit),
        coalesce(v_shown::text, 'some'), case v_shown when 1 then 'does' else 'do' end,
        v_new.jobs, case v_new.jobs when 1 then 'was' else 'were' end
        using errcode = 'WL006', hint = 'Wait until some have run, enqueue fewer, or let the limit be raised.',
        detail = jsonb_build_object('limit', v_limit.id, 'scope', windlass._limit_scope(v_limit), 'depth', v_limit.depth,
                                    'waiting', v_shown, 'new', v_new.jobs, 'retry_after', v_later)::text;
    end if;
  end loop;
end
$$;
comment on function windlass._check_depth is 'Refuse what makes a line longer than a limit allows.';
