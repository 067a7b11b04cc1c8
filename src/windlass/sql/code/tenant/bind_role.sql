-- Bind a database role to a tenant: from then on it cannot name another.  WL004 if it is bound to another already.
--
-- A role that row-level security does not hold, or that could become one, would only seem bound, and is refused;
-- so are the roles of Windlass itself, which all its members share, and whoever asks, who could not take it back.
-- definer: engine
-- grant: operator
create function windlass.bind_role(
  p_role name, p_tenant uuid, p_reason text default null, p_actor text default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held uuid;
  v_above name;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  if not exists (select from pg_roles as r where r.rolname = p_role) then
    raise exception 'there is no role %', quote_literal(coalesce(p_role, '')) using errcode = 'WL001';
  elsif not exists (select from windlass_data.tenant as t where t.id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'WL001';
  elsif p_role in ('windlass_owner', 'windlass_engine', 'windlass_producer', 'windlass_worker', 'windlass_operator',
                   'windlass_reader') then
    raise exception 'role % stands for all its members and cannot be bound', p_role using errcode = 'WL007';
  end if;
  select r.rolname into v_above from pg_roles as r
  where (r.rolsuper or r.rolbypassrls or r.rolname in ('windlass_owner', 'windlass_engine'))
    and pg_has_role(p_role, r.oid, 'member')
  order by r.rolname <> p_role
  limit 1;
  if found then
    raise exception 'role % is, or can become, %, which row-level security does not hold to one tenant', p_role, v_above
      using errcode = 'WL007';
  end if;
  insert into windlass_data.role_tenant (role_name, tenant_id, role_oid)
  values (p_role, p_tenant, (select r.oid from pg_roles as r where r.rolname = p_role))
  on conflict (role_name) do nothing;
  if found then
    if windlass_data.bound_tenant() is not null then
      raise exception 'role % is, or acts for, whoever asks: bound, you could name no other tenant, nor unbind it', p_role
        using errcode = 'WL007', hint = 'Make a login for the tenant and bind that one, or ask as another operator.';
    end if;
    perform windlass._record(p_tenant, 'role.bind', null, p_reason, p_actor, jsonb_build_object('role', p_role));
    return;
  end if;
  select b.tenant_id into v_held from windlass_data.role_tenant as b where b.role_name = p_role;
  if v_held <> p_tenant then
    raise exception 'role % is bound to tenant %', p_role, v_held using errcode = 'WL004',
      hint = 'Unbind it first.';
  end if;
  update windlass_data.role_tenant as b
  set role_oid = r.oid
  from pg_roles as r
  where b.role_name = p_role and r.rolname = p_role and b.role_oid is distinct from r.oid;  -- dropped and made again
end
$$;
comment on function windlass.bind_role is 'Bind a database role to one tenant.';
