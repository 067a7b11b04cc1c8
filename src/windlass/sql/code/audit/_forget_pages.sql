-- Look at the next p_limit pages behind this one, and remove those of which retention has taken every attempt.
-- Returns the last one looked at; nulls: all have been.  The events stay, and say what was on the pages.
-- definer: none
create function windlass._forget_pages(
  p_tenant uuid, p_number bigint, p_limit bigint, out tenant_id uuid, out number bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pages record;
begin
  select array_agg(p.tenant_id) as tenants, array_agg(p.number) as numbers, array_agg(p.ended_to) as ends
  into v_pages
  from (
    select p.tenant_id, p.number, p.ended_to from windlass_data.attempt_page as p
    where p_tenant is null or (p.tenant_id, p.number) > (p_tenant, p_number)
    order by p.tenant_id, p.number
    limit p_limit
  ) as p;
  delete from windlass_data.attempt_page as p
  using unnest(v_pages.tenants, v_pages.numbers, v_pages.ends) as s(tenant_id, number, ended_to)
  where p.tenant_id = s.tenant_id and p.number = s.number and s.ended_to <= windlass._pruned_to(s.tenant_id)
    and not exists (
      select from windlass._page_entries(p.page) as e
      cross join lateral (
        select from windlass_data.attempt as a
        where a.tenant_id = p.tenant_id and a.job_id = e.job_id and a.version = e.version
        offset 0
      ) as a);
  if cardinality(v_pages.tenants) = p_limit then
    tenant_id := v_pages.tenants[p_limit];
    number := v_pages.numbers[p_limit];
  end if;
end
$$;
comment on function windlass._forget_pages is 'Remove pages of which retention has taken every attempt.';
