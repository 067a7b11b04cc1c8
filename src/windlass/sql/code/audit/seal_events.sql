-- Seal up to p_limit events that their own transactions left unsealed, of every tenant, and return how many.  Events that
-- workers cause in bulk, and those of a transaction that found its chain held, have no place until then.
--
-- Tenants take turns, up to 1000 events each, so that one with very many holds up no other.  Safe to run anywhere, any
-- number at a time: a chain that somebody holds is passed over.  A role that is bound to a tenant seals that tenant's.
-- definer: engine
-- grant: worker, operator
create function windlass.seal_events(p_limit integer default 10000) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_tenant uuid;
  v_sealed integer := 0;
  v_round integer := 0;  -- sealed since the first tenant was last looked at
  v_now integer;
begin
  if p_limit is null or p_limit not between 1 and 100000 then
    raise exception 'from 1 to 100000 events are sealed at a time' using errcode = 'WL007';
  elsif current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    return 0;
  end if;
  while v_sealed < p_limit loop
    v_tenant := windlass._next_unsealed(v_tenant, v_bound);
    exit when v_tenant is null and v_round = 0;
    if v_tenant is null then
      v_round := 0;
      continue;
    end if;
    -- A chain whose end was taken away is not begun anew: that must be seen.
    insert into windlass_data.chain (tenant_id)
    select v_tenant
    where not exists (select from windlass_data.chain as c where c.tenant_id = v_tenant)
      and not exists (select from windlass_data.seal as s where s.tenant_id = v_tenant)
    on conflict do nothing;
    v_now := windlass._seal_events(v_tenant, least(p_limit - v_sealed, 1000));
    v_sealed := v_sealed + v_now;
    v_round := v_round + v_now;
  end loop;
  return v_sealed;
end
$$;
comment on function windlass.seal_events(integer) is 'Seal the events that their own transactions left unsealed.';
