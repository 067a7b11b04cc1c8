-- The node that leads now, with its term; no row while nobody does.  Who is bound to a tenant gets its id and term, which a
-- cluster job is created with, and its name and address only if it runs that node itself.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.get_leader()
returns table (node_id uuid, name text, address text, term bigint, since timestamptz, expires_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select l.node_id, case when s.seen then n.name end, case when s.seen then nullif(n.address, '') end, l.term, l.since,
         l.expires_at
  from windlass_data.leader as l
  join windlass_data.node as n on n.id = l.node_id
  cross join lateral (select windlass_data.bound_tenant() is null or n.login = session_user) as s(seen)
  where l.expires_at > windlass_data.clock();
end
$$;
comment on function windlass.get_leader() is 'The node that leads now, with its term.';
