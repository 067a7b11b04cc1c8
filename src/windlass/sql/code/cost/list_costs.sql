-- What jobs cost, added up by any of tenant, queue, kind and day; what is not in p_by is null.  Of one tenant or of all,
-- from the day p_since on and before the day p_until (UTC).  Days come in their order, and the dearest first in each.
--
-- Exact at every moment: sums and what is not yet in them are read together.  At most p_limit rows come back; each also has
-- the total over all of them, those left out included, and how many there are.
-- definer: engine
-- grant: operator, reader
create function windlass.list_costs(
  p_tenant uuid default null, p_since date default null, p_until date default null, p_by text[] default '{kind}',
  p_queues text[] default null, p_kinds text[] default null, p_limit integer default 1000)
returns table (
  tenant_id uuid, tenant text, queue text, kind text, day date, cents numeric, entries bigint, total_cents numeric,
  total_entries bigint, total_rows bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(p_tenant);
begin
  perform windlass._check_page(p_limit, null, '');
  if p_by is null or array_ndims(p_by) > 1 or array_position(p_by, null) is not null
     or not p_by <@ array['tenant', 'queue', 'kind', 'day'] then
    raise exception 'costs are added up by tenant, queue, kind and day' using errcode = 'WL007';
  elsif p_since >= p_until then
    raise exception 'there is no day from % on and before %', p_since, p_until using errcode = 'WL007';
  end if;
  return query
  select f.tenant_id, t.slug, f.queue, f.kind, f.day, f.cents, f.entries, sum(f.cents) over (),
         (sum(f.entries) over ())::bigint, count(*) over ()
  from (
    select case when 'tenant' = any (p_by) then c.tenant_id end as tenant_id,
           case when 'queue' = any (p_by) then c.queue end as queue,
           case when 'kind' = any (p_by) then c.kind end as kind,
           case when 'day' = any (p_by) then c.day end as day,
           sum(c.cents) as cents, sum(c.entries)::bigint as entries
    from (
      select s.* from windlass_data.cost_day as s
      union all
      select d.* from windlass_data.cost_delta as d
    ) as c
    where (v_only is null or c.tenant_id = v_only)
      and (p_since is null or c.day >= p_since) and (p_until is null or c.day < p_until)
      and (p_queues is null or c.queue = any (p_queues)) and (p_kinds is null or c.kind = any (p_kinds))
    group by 1, 2, 3, 4
  ) as f
  left join windlass_data.tenant as t on t.id = f.tenant_id
  order by f.day, f.cents desc, t.slug, f.queue, f.kind
  limit p_limit;
end
$$;
comment on function windlass.list_costs is 'What jobs cost, added up by tenant, queue, kind and day.';
