-- Up to when retention may have taken ended jobs of a tenant, as the audit has it; -infinity: it never took any.
-- definer: none
create function windlass._pruned_to(p_tenant uuid) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce((
    select max(e.before)
    from unnest(array[p_tenant, '00000000-0000-0000-0000-000000000000']) as t(id)
    cross join lateral (
      select (e.details ->> 'before')::timestamptz as before from windlass_data.event as e
      where e.tenant_id = t.id and e.action = 'jobs.prune'
      order by e.id desc
      limit 1
    ) as e), '-infinity');
end
$$;
comment on function windlass._pruned_to(uuid) is 'Up to when retention may have taken ended jobs of a tenant.';
