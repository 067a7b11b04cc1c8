-- The latest attempts of a job, in their order; the last one may be running still and then has no outcome.
--
-- p_before pages back through a job that has more of them than p_limit.  Tokens are not shown.  The name of a node is
-- null where it is not known any more, or not known to this session (see _node_name).
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.list_attempts(
  p_tenant uuid, p_job uuid, p_limit integer default 100, p_before integer default null)
returns table (
  job_id uuid, number integer, counted integer, node_id uuid, started_at timestamptz, finished_at timestamptz,
  outcome text, ends text, cost_cents bigint, result jsonb, error jsonb, node_name text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  perform windlass._check_page(p_limit, null, '');
  perform windlass._hold_days();
  return query
  select t.*, windlass._node_name(t.node_id)
  from windlass._attempts_of(p_tenant, p_job, coalesce(p_before, 2147483647), p_limit) as t
  order by t.number;
  if not found and not exists (
    select from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_job
  ) then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.list_attempts is 'The attempts of a job, the running one included.';
