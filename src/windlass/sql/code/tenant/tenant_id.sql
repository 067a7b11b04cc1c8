-- The id behind a tenant's slug.  A bound role finds its own tenant only.
-- definer: engine
-- grant: producer, worker, operator, reader
create function windlass.tenant_id(p_slug text) returns uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_id uuid;
begin
  select t.id into v_id
  from windlass_data.tenant as t
  where t.slug = p_slug and (v_bound is null or t.id = v_bound);
  if v_id is null then
    raise exception 'there is no tenant %', quote_literal(coalesce(p_slug, '')) using errcode = 'WL001';
  end if;
  return v_id;
end
$$;
comment on function windlass.tenant_id(text) is 'The id of a tenant, by its slug.';
