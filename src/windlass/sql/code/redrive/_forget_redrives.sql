-- Remove up to p_limit redrives whose job is no longer kept, and so many rows of jobs that nobody watches any more.
-- definer: engine
create function windlass._forget_redrives(p_limit integer) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
begin
  delete from windlass_data.redrive as r
  where r.ctid = any (array(
    select r.ctid from windlass_data.redrive as r
    where (v_bound is null or r.tenant_id = v_bound)
      and not exists (select from windlass_data.job as j where j.tenant_id = r.tenant_id and j.id = r.id)
    limit p_limit
    for update skip locked));
  delete from windlass_data.redriven as w
  where w.ctid = any (array(
    select w.ctid from windlass_data.redriven as w
    where (v_bound is null or w.tenant_id = v_bound) and not exists (
      select from windlass_data.redrive as r
      where r.tenant_id = w.tenant_id and r.id = w.redrive_id and r.outcome is null)
    limit p_limit
    for update skip locked));
end
$$;
comment on function windlass._forget_redrives(integer) is 'Remove what is left of redrives that are over.';
