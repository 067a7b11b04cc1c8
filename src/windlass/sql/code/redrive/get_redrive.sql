-- One redrive: what it is for, how far it is, and how it ended.
-- definer: owner
-- grant: operator, reader
create function windlass.get_redrive(p_tenant uuid, p_job uuid)
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
  perform windlass._hold_days();
  return query select d.* from windlass._describe_redrives(p_tenant, array[p_job]) as d;
  if not found then
    raise exception 'there is no redrive %', p_job using errcode = 'WL001';
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.get_redrive is 'One redrive, and how far it is.';
