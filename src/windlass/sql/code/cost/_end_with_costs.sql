-- End running attempts as _end_attempts does, by words that bring costs, and write these down.
--
-- What a lease holds never changes, so it is read before, while it is there; which words counted, their answers say.
-- definer: none
create function windlass._end_with_costs(
  p_tokens uuid[], p_jobs uuid[], p_outcomes windlass_data.outcome[], p_errors jsonb[], p_delays double precision[],
  p_costs bigint[])
returns table (job_id uuid, code text, state text, run_at timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held record;
  v_ok integer[] := '{}';
  v_place integer := 0;
begin
  select array_agg(h.tenant_id order by s.place) as tenants, array_agg(h.lane_id order by s.place) as lanes,
         array_agg(h.version order by s.place) as versions
  into v_held
  from unnest(p_tokens, p_jobs) with ordinality as s(token, job_id, place)
  left join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id;
  for job_id, code, state, run_at in
    select e.* from windlass._end_attempts(p_tokens, p_jobs, p_outcomes, p_errors, p_delays, p_costs) as e
  loop
    v_place := v_place + 1;
    if code = 'ok' and p_costs[v_place] is not null then
      v_ok := v_ok || v_place;
    end if;
    return next;
  end loop;
  if cardinality(v_ok) > 0 then
    perform windlass._note_costs(
      array(select v_held.tenants[p] from unnest(v_ok) as p), array(select v_held.lanes[p] from unnest(v_ok) as p),
      array(select p_jobs[p] from unnest(v_ok) as p), array(select v_held.versions[p] from unnest(v_ok) as p),
      array(select p_costs[p] from unnest(v_ok) as p), null);
  end if;
end
$$;
comment on function windlass._end_with_costs is 'End running attempts by words that bring costs.';
