-- Remove up to p_limit cluster jobs whose record is no longer kept, with their parts.
-- definer: engine
create function windlass._forget_parts(p_limit integer) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  with gone as (
    delete from windlass_data.cluster_job as c
    where c.ctid = any (array(
      select c.ctid from windlass_data.cluster_job as c
      where c.ended_at is not null and (windlass_data.bound_tenant() is null or c.tenant_id = windlass_data.bound_tenant())
        and not exists (
          select from windlass_data.job as j where j.tenant_id = c.tenant_id and j.id = c.job_id)
      limit p_limit
      for update skip locked))
    returning c.tenant_id, c.job_id
  )
  delete from windlass_data.cluster_part as p
  using gone as g
  where p.tenant_id = g.tenant_id and p.job_id = g.job_id;
end
$$;
comment on function windlass._forget_parts(integer) is 'Remove cluster jobs whose record is no longer kept.';
