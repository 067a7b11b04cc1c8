-- The redrives of a tenant, newest first; p_before, the id of the last of a page, gets the next one.
-- definer: owner
-- grant: operator, reader
create function windlass.list_redrives(p_tenant uuid, p_limit integer default 50, p_before uuid default null)
returns table (
  id uuid, tenant_id uuid, state text, kinds text[], queues text[], error_like text, died_from timestamptz,
  died_to timestamptz, named integer, patch jsonb, max_attempts integer, throttle double precision,
  stop_rate double precision, stop_after integer, expected bigint, actor text, reason text, created_at timestamptz,
  matched bigint, redriven bigint, refused bigint, passed bigint, ended bigint, died bigint, refusals jsonb,
  stop_reason text, ended_at timestamptz, read_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  perform windlass._check_page(p_limit, null, 'i');
  perform windlass._hold_days();
  return query
  select d.* from windlass._describe_redrives(p_tenant, array(
    select r.id from windlass_data.redrive as r
    where r.tenant_id = p_tenant and (p_before is null or r.id < p_before)
    order by r.id desc
    limit p_limit)) as d;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.list_redrives is 'The redrives of a tenant, newest first.';
