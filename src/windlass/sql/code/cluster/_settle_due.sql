-- Settle up to p_limit cluster jobs whose time is up.  Passes over those that somebody holds.
-- definer: none
create function windlass._settle_due(p_limit integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_job record;
begin
  for v_job in
    select c.tenant_id, c.job_id from windlass_data.cluster_job as c
    where c.settled_at is null and c.deadline_at is not null and c.deadline_at <= v_now
    order by c.deadline_at
    limit p_limit
  loop
    perform from windlass_data.job as j
    where j.tenant_id = v_job.tenant_id and j.id = v_job.job_id
    for no key update skip locked;
    if found then
      perform windlass._settle_cluster_job(v_job.tenant_id, v_job.job_id);
    end if;
  end loop;
end
$$;
comment on function windlass._settle_due(integer) is 'Settle cluster jobs whose time is up.';
