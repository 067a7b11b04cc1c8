-- The slug behind a tenant's id, and so whether there is such a tenant.  A bound role may name its own tenant only.
-- definer: engine
-- grant: producer, worker, operator, reader
create function windlass.tenant_slug(p_tenant uuid) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant uuid := windlass._confine(p_tenant);
  v_slug text;
begin
  select t.slug into v_slug from windlass_data.tenant as t where t.id = v_tenant;
  if v_slug is null then
    raise exception 'there is no tenant %', quote_literal(coalesce(p_tenant::text, '')) using errcode = 'WL001';
  end if;
  return v_slug;
end
$$;
comment on function windlass.tenant_slug(uuid) is 'The slug of a tenant, by its id.';
