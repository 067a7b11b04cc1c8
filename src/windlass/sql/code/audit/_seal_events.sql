-- Give up to p_limit unsealed events of a tenant their places in its chain, oldest first.  Returns how many.
--
-- Whoever moves a chain holds its row until the commit.  It is never waited for: who finds it held leaves the events to
-- whoever comes next, so that no two transactions can wait for each other here, in whatever order they touch tenants.
-- With one snapshot for all statements the end of the chain could be an old one, so nothing is done there.
-- definer: engine
create function windlass._seal_events(p_tenant uuid, p_limit integer) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_head windlass_data.chain;
  v_next record;
  v_place bigint;
  v_events uuid[] := '{}';
  v_digests bytea[] := '{}';
  v_hashes bytea[] := '{}';
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
     or not exists (select from windlass_data.unsealed as u where u.tenant_id = p_tenant) then
    return 0;
  end if;
  select c.* into v_head from windlass_data.chain as c where c.tenant_id = p_tenant for update skip locked;
  if not found then
    return 0;
  end if;
  v_place := v_head.place;
  for v_next in
    select u.event_id, u.digest from windlass_data.unsealed as u
    where u.tenant_id = p_tenant
    order by u.event_id
    limit p_limit
  loop
    v_place := v_place + 1;
    v_head.hash := windlass_data.seal_hash(v_head.hash, v_place, v_next.digest);
    v_events := v_events || v_next.event_id;
    v_digests := v_digests || v_next.digest;
    v_hashes := v_hashes || v_head.hash;
  end loop;
  if v_place = v_head.place then
    return 0;
  end if;
  insert into windlass_data.seal (tenant_id, place, event_id, digest, hash)
  select p_tenant, v_head.place + s.nth, s.event_id, s.digest, s.hash
  from unnest(v_events, v_digests, v_hashes) with ordinality as s(event_id, digest, hash, nth);
  delete from windlass_data.unsealed as u where u.tenant_id = p_tenant and u.event_id = any (v_events);
  update windlass_data.chain as c set place = v_place, hash = v_head.hash where c.tenant_id = p_tenant;
  return cardinality(v_events);
end
$$;
comment on function windlass._seal_events(uuid, integer) is 'Give unsealed events of a tenant their places in its chain.';
