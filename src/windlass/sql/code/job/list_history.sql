-- What happened to a job, in order: when, what, by whom (a node or a person), in which attempt and why.
--
-- Nothing is stored for this: it is read from the job, its attempts, its lease and its events.  Of a job with very
-- many attempts or events the latest p_limit of each are told.  Where the actor is a node, node_name is its name, if known.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.list_history(p_tenant uuid, p_job uuid, p_limit integer default 1000)
returns table (
  at timestamptz, what text, actor text, attempt integer, reason text, details jsonb, node_name text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
begin
  perform windlass._check_page(p_limit, null, '');
  perform windlass._hold_days();
  return query
  select f.at, f.what, f.actor, nullif(f.attempt, 0), f.reason, nullif(
           jsonb_strip_nulls(f.details - 'patch')  -- in a patch, null says something
           || case when f.details ? 'patch' then jsonb_build_object('patch', f.details -> 'patch') else '{}' end, '{}'),
         windlass._node_name(f.node_id)
  from windlass._facts_of(p_tenant, p_job, p_limit) as f
  order by f.at, coalesce(f.attempt, 2147483647), f.rank;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'WL001';
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.list_history is 'What happened to a job, in order.';
