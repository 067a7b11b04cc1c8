-- Whether a session may speak for this node.  One that is bound to a tenant may for nodes that its login runs: of another's it
-- is refused, and one that nobody has heard of is none.
-- definer: none
create function windlass._is_own_node(p_node uuid) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_login name;
begin
  if windlass_data.bound_tenant() is null then
    return true;
  end if;
  select n.login into v_login from windlass_data.node as n where n.id = p_node;
  if v_login <> session_user then
    raise exception 'node % is run by another role', p_node using errcode = 'WL005';
  end if;
  return v_login is not null;
end
$$;
comment on function windlass._is_own_node(uuid) is 'Whether a session may speak for a node.';
