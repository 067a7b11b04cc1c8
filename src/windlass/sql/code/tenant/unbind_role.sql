-- Let a database role name any tenant again.  Returns the tenant it was bound to; WL001 if it was bound to none.
-- definer: engine
-- grant: operator
create function windlass.unbind_role(p_role name, p_reason text default null, p_actor text default null)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant uuid;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  delete from windlass_data.role_tenant as b where b.role_name = p_role returning b.tenant_id into v_tenant;
  if not found then
    raise exception 'role % is bound to no tenant', quote_literal(coalesce(p_role, '')) using errcode = 'WL001';
  end if;
  perform windlass._record(v_tenant, 'role.unbind', null, p_reason, p_actor, jsonb_build_object('role', p_role));
  return v_tenant;
end
$$;
comment on function windlass.unbind_role is 'Let a database role name any tenant again.';
