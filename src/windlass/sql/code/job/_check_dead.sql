-- Refuse a list of jobs of which one is not dead.
-- definer: none
create function windlass._check_dead(p_tenant uuid, p_jobs uuid[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_odd record;
begin
  select n.id, d.state into v_odd
  from unnest(p_jobs) as n(id)
  left join windlass._describe_jobs(p_tenant, p_jobs) as d on d.id = n.id
  where d.state is distinct from 'dead'
  limit 1;
  if found and v_odd.state is null then
    raise exception 'there is no job %', v_odd.id using errcode = 'WL001';
  elsif found then
    raise exception 'job % is %, and only dead jobs are redriven', v_odd.id, v_odd.state using errcode = 'WL004';
  end if;
end
$$;
comment on function windlass._check_dead(uuid, uuid[]) is 'Refuse a list of jobs of which one is not dead.';
