-- Enqueue those jobs of a batch that fit under the limits on depth; of the others a row without a job comes back.
-- definer: none
create function windlass._enqueue_fitting(p_tenant uuid, p_jobs windlass_data.new_job[])
returns table (ordinal integer, job_id uuid, created boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs windlass_data.new_job[] := p_jobs;
  v_fits boolean[];
  v_places integer[];
begin
  perform windlass._check_new_jobs(p_jobs);
  perform windlass._make_lanes(p_tenant, p_jobs);
  v_fits := windlass._fitting(windlass._lane_ids(p_tenant, p_jobs));
  v_places := array(select s from generate_subscripts(v_jobs, 1) as s where v_fits[s] order by s);
  return query
  select s, e.job_id, coalesce(e.created, false)
  from generate_subscripts(v_jobs, 1) as s
  left join windlass._enqueue(p_tenant, array(select v_jobs[p] from unnest(v_places) as p), true) as e
    on v_places[e.ordinal] = s
  order by s;
end
$$;
comment on function windlass._enqueue_fitting is 'Enqueue those jobs of a batch that fit.';
