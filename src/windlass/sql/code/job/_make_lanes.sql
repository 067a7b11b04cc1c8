-- Make the lanes that these jobs need and that are not there yet.
--
-- Somebody else who makes the same lane at this moment is not waited for: then there are two of it.
-- definer: none
create function windlass._make_lanes(p_tenant uuid, p_jobs windlass_data.new_job[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  if not exists (select from windlass_data.tenant as t where t.id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'WL001';
  end if;
  select n.ordinality as place, f.field, f.why into v_bad
  from unnest(p_jobs) with ordinality as n
  cross join lateral (
    values
      ('kind', case when n.kind is null or n.kind !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}$'
                    then 'must have 1 to 200 letters, digits or _ . : / -' end),
      ('queue', case when coalesce(n.queue, 'default') !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$'
                     then 'must have 1 to 100 letters, digits or _ . : / -' end),
      ('priority', case when n.priority not between -32768 and 32767 then 'must be from -32768 to 32767' end)
  ) as f(field, why)
  where f.why is not null
  limit 1;
  if found then
    raise exception '%', windlass._of_batch(v_bad.place, p_jobs) || v_bad.field || ' ' || v_bad.why using errcode = 'WL007';
  end if;

  insert into windlass_data.lane (tenant_id, queue, kind, priority)
  select distinct p_tenant, n.queue, n.kind, n.priority
  from (select coalesce(n.queue, 'default') as queue, n.kind, coalesce(n.priority, 0) as priority from unnest(p_jobs) as n) as n
  where not exists (
    select from windlass_data.lane as l
    where l.tenant_id = p_tenant and l.queue = n.queue and l.kind = n.kind and l.priority = n.priority);
end
$$;
comment on function windlass._make_lanes(uuid, windlass_data.new_job[]) is 'Make the lanes that a batch of jobs needs.';
