-- Refuse a session that is bound to a tenant and names a node that another login runs.
-- definer: none
create function windlass._refuse_foreign_node(p_node uuid) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if windlass_data.bound_tenant() is not null
     and exists (select from windlass_data.node as n where n.id = p_node and n.login <> session_user) then
    raise exception 'node % is run by another role', p_node using errcode = 'WL005';
  end if;
end
$$;
comment on function windlass._refuse_foreign_node(uuid) is 'Refuse a bound session that names another''s node.';
