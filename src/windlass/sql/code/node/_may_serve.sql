-- Whether a node that this login runs may take jobs of a tenant: it is bound to none, or to this one.
-- definer: none
create function windlass._may_serve(p_login name, p_tenant uuid) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return not exists (
    select from windlass_data.role_tenant as b
    join pg_roles as g on g.rolname = b.role_name
    join pg_roles as r on r.rolname = p_login and not r.rolsuper
    where b.tenant_id <> p_tenant and pg_has_role(r.oid, g.oid, 'member'));
end
$$;
comment on function windlass._may_serve(name, uuid) is 'Whether a node that a login runs may take a tenant''s jobs.';
