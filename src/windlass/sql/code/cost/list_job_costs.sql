-- What a job cost, entry by entry, in the order in which they were reported; a cost that came with an outcome has no
-- purpose (`what` is null).  Of a job with very many the latest p_limit are told.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.list_job_costs(p_tenant uuid, p_job uuid, p_limit integer default 1000)
returns table (at timestamptz, attempt integer, cents bigint, what text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  perform windlass._check_page(p_limit, null, '');
  perform windlass._hold_days();
  return query
  select f.at, f.version, f.cents, f.what
  from (
    select c.at, c.version, c.cents, c.what, c.id
    from windlass_data.cost as c
    where c.tenant_id = p_tenant and c.job_id = p_job
    union all
    select a.finished_at, a.version, a.cost_cents, null, 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    from windlass_data.attempt as a
    where a.tenant_id = p_tenant and a.job_id = p_job and a.cost_cents is not null
    order by 2 desc, 1 desc, 5 desc
    limit p_limit
  ) as f
  order by f.version, f.at, f.id;
  if not found and not exists (
    select from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_job
  ) then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.list_job_costs is 'What a job cost, entry by entry.';
