-- Lock these leases, in one order for everybody.  First in the order of locks: see sql/README.md.
-- definer: none
create function windlass._lock_leases(p_tokens uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from windlass_data.lease as l
  where l.id = any (p_tokens)
  order by l.id
  for no key update;
end
$$;
comment on function windlass._lock_leases(uuid[]) is 'Lock these leases.';
