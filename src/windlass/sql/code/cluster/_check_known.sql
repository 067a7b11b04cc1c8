-- Refuse a kind that the leader does not know: its action would wait until another node leads.  Returns whether nodes have
-- parts in such jobs.
-- definer: none
create function windlass._check_known(p_leader uuid, p_kind text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_local boolean;
begin
  select p_kind = any (n.local_kinds) into v_local from windlass_data.node as n
  where n.id = p_leader and p_kind = any (n.cluster_kinds);
  if not found then
    raise exception 'the leader knows no cluster jobs of the kind %', coalesce(quote_literal(p_kind), 'null')
      using errcode = 'WL007', hint = 'All nodes that take part in cluster jobs must run the same application.';
  end if;
  return v_local;
end
$$;
comment on function windlass._check_known(uuid, text) is 'Refuse a kind that the leader does not know.';
