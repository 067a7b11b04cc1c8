-- What a node is called; null for one that was swept.  A role bound to a tenant knows the nodes that it runs itself.
-- definer: none
create function windlass._node_name(p_node uuid) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select n.name from windlass_data.node as n
    where n.id = p_node and (windlass_data.bound_tenant() is null or n.login = session_user));
end
$$;
comment on function windlass._node_name is 'What a node is called.';
