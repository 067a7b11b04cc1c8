-- The first p_limit dead jobs of the entered tenant that a redrive is for, oldest first.  Which those are is said by
-- _dead_page, for a redrive at once as for one that runs as a job.
-- definer: none
create function windlass._dead_jobs(p_redrive windlass_data.redrive, p_limit integer) returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_scan constant integer := 2000;
  v_after uuid := '00000000-0000-0000-0000-000000000000';
  v_page record;
  v_found uuid[] := '{}';
begin
  loop
    select count(*) as seen, (array_agg(d.job_id order by d.job_id desc))[1] as last,
           coalesce(array_agg(d.job_id order by d.job_id) filter (where d.matches), '{}') as jobs
    into v_page
    from windlass._dead_page(p_redrive, v_after, v_scan) as d;
    v_found := v_found || v_page.jobs;
    exit when v_page.seen < v_scan or cardinality(v_found) >= p_limit;
    v_after := v_page.last;
  end loop;
  return v_found[1:p_limit];
end
$$;
comment on function windlass._dead_jobs is 'The first dead jobs that a redrive is for.';
