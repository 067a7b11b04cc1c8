-- Why a job is not running now: every reason, in the order in which they bind, each with what would end it, and when.
--
-- A reason that blocks keeps every claim from taking the job.  Where none does, it is the next claim's to take, of a node
-- that serves its queue and kind; the last row then says how far it is from the head of the line.  What the claim asks
-- and what is asked here are the same functions: _gates_on, _limits_of, _limit_rooms, _next_at_key, _open_lanes.
-- definer: engine
-- grant: producer, worker, operator, reader
create function windlass.explain_job(p_tenant uuid, p_job uuid)
returns table (
  place integer, code text, blocks boolean, says text, clears text, clears_at timestamptz, details jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- of one job, in one day: to plan for every day takes longest of all
set enable_seqscan = off
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_job windlass_data.job;
  v_lane windlass_data.lane;
  v_found windlass_data.reason[];
  v_gated boolean;
begin
  if p_tenant is null then
    raise exception 'no tenant given' using errcode = 'WL005';
  end if;
  perform windlass._confine(p_tenant);
  perform windlass._hold_days();
  select j.* into v_job from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_job;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  select l.* into v_lane from windlass_data.lane as l where l.id = v_job.lane_id;
  v_found := array(select w from windlass._why_state(v_job, v_now) as w);
  if v_found[1].code is null or v_found[1].code in ('retry_wait', 'not_due', 'parts', 'key') then
    v_found := v_found || array(select w from windlass._why_held(v_lane, v_now) as w);
    v_gated := exists (select from unnest(v_found) as f where f.code = 'gate');
    v_found := v_found || array(select w from windlass._why_nodes(v_lane, v_gated) as w);
    if not exists (select from unnest(v_found) as f where f.blocks) then
      v_found := v_found || array(select w from windlass._why_line(v_job, v_lane, v_now) as w);
    end if;
  end if;
  return query
  select f.place::integer, f.code, f.blocks, f.says, f.clears, f.clears_at, f.details
  from unnest(v_found) with ordinality as f(code, blocks, says, clears, clears_at, details, place)
  order by f.place;
end
$$;
comment on function windlass.explain_job(uuid, uuid) is 'Why a job is not running now, and what would change that.';
