-- Refuse what was just put into these lanes if more jobs wait now than a limit on their depth allows.
--
-- Whoever enqueues under such a limit holds it until the commit, so that the count is exact: the others' jobs are there
-- or not yet in line.  Nobody else waits, and without such limits nothing is done at all.
-- definer: engine
create function windlass._check_depth(p_lanes integer[], p_new integer) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit windlass_data.job_limit;
  v_waiting bigint;
  v_shown bigint;  -- how many others wait is nobody's business who is bound to a tenant
begin
  for v_limit in
    select distinct m.* from windlass_data.depth_limit as d
    join windlass_data.job_limit as m on m.id = d.limit_id
    join windlass_data.lane as l
      on l.id = any (p_lanes) and (m.tenant_id is null or m.tenant_id = l.tenant_id)
     and (m.queue is null or m.queue = l.queue) and (m.kind is null or m.kind = l.kind)
    order by m.id
  loop
    perform pg_advisory_xact_lock(20054, v_limit.id);
    v_waiting := windlass._depth_of(v_limit.id, v_limit.depth + p_new);
    if v_waiting > v_limit.depth then
      v_shown := case when v_limit.tenant_id is not null or windlass_data.bound_tenant() is null then v_waiting - p_new end;
      raise exception 'at most % jobs of % may wait: % do, and % were to come', v_limit.depth,
        windlass._limit_scope(v_limit), coalesce(v_shown::text, 'some'), p_new
        using errcode = 'WL006', hint = 'Wait until some have run, enqueue fewer, or let the limit be raised.',
        detail = jsonb_build_object('limit', v_limit.id, 'scope', windlass._limit_scope(v_limit), 'depth', v_limit.depth,
                                    'waiting', v_shown, 'new', p_new)::text;
    end if;
  end loop;
end
$$;
comment on function windlass._check_depth is 'Refuse what makes a line longer than a limit allows.';
