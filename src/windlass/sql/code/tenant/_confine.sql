-- The tenant that a function which sees all tenants must keep to: the one asked for, else the one that the session
-- is bound to, else null, which is all of them.  A bound session cannot ask for another.
-- definer: none
create function windlass._confine(p_tenant uuid) returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
begin
  if v_bound is not null and v_bound <> p_tenant then
    raise exception 'this role is bound to another tenant' using errcode = 'WL005';
  end if;
  return coalesce(p_tenant, v_bound);
end
$$;
comment on function windlass._confine(uuid) is 'The tenant that a cross-tenant function must keep to.';
