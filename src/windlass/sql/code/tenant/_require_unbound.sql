-- Refuse a session that is bound to a tenant: what follows concerns the whole installation.
-- definer: none
create function windlass._require_unbound() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if windlass_data.bound_tenant() is not null then
    raise exception 'a role that is bound to a tenant cannot act for the whole installation' using errcode = 'WL005';
  end if;
end
$$;
comment on function windlass._require_unbound() is 'Refuse a session that is bound to a tenant.';
