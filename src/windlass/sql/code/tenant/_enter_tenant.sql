-- Let the rest of this function act for one tenant, and return the setting to put back before it returns.
--
-- The tenant is an argument and so never trusted: a session bound to another tenant is refused here, and
-- row-level security holds whatever the function then does.
-- definer: none
create function windlass._enter_tenant(p_tenant uuid) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := current_setting('windlass.tenant_id', true);
  v_bound uuid := windlass_data.bound_tenant();
begin
  if p_tenant is null then
    raise exception 'no tenant given' using errcode = 'WL005',
      hint = 'Name the tenant, for example windlass.tenant_id(''default'').';
  elsif v_bound is not null and v_bound <> p_tenant then
    raise exception 'this role is bound to another tenant' using errcode = 'WL005';
  end if;
  perform set_config('windlass.tenant_id', p_tenant::text, true);
  return coalesce(v_before, '');
end
$$;
comment on function windlass._enter_tenant(uuid) is 'Act for one tenant until the returned setting is put back.';
