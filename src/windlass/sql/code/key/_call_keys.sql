-- Look whose turn it is at up to p_limit keys of which something changed, and let those jobs into line.
--
-- For one key one transaction at a time: the next one sees who was let in.  A key that somebody else looks at, or a job
-- that somebody holds, is left for the next time; nobody waits.  It steps back behind those at which nobody has looked, and
-- some of those that stepped back are tried each time, in turn: however many are held, no other key waits behind them.
-- definer: none
create function windlass._call_keys(p_limit integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_tids tid[];
  v_mine record;
  v_next record;
  v_lanes integer[];
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    return;  -- it would not see whom others have let in
  end if;
  v_tids := array(
    select c.ctid from windlass_data.key_check as c
    where c.looked is null and (v_bound is null or c.tenant_id = v_bound)
    limit p_limit for update skip locked
  ) || array(
    select c.ctid from windlass_data.key_check as c
    where c.looked is not null and (v_bound is null or c.tenant_id = v_bound)
    order by c.looked limit p_limit / 2 for update skip locked);
  select array_agg(c.tenant_id) as tenants, array_agg(c.kind) as kinds, array_agg(c.key) as keys into v_mine
  from (select distinct c.tenant_id, c.kind, c.key from windlass_data.key_check as c where c.ctid = any (v_tids)) as c
  where pg_try_advisory_xact_lock(20055, hashtext(c.tenant_id::text || c.kind || c.key));

  -- A statement of its own: it sees what the last one who looked at the key has done.
  select array_agg(n.tenant_id order by n.priority desc, n.place) as tenants,
         array_agg(n.job_id order by n.priority desc, n.place) as jobs
  into v_next
  from unnest(v_mine.tenants, v_mine.kinds, v_mine.keys) as m(tenant_id, kind, key)
  cross join lateral windlass._next_at_key(m.tenant_id, m.kind, m.key) as n;
  v_lanes := windlass._unpark_jobs(v_next.tenants, v_next.jobs);
  perform windlass._hold_turns(v_next.tenants, v_next.jobs);
  delete from windlass_data.key_check as c
  using unnest(v_mine.tenants, v_mine.kinds, v_mine.keys) as m(tenant_id, kind, key)
  where c.ctid = any (v_tids) and c.tenant_id = m.tenant_id and c.kind = m.kind and c.key = m.key
    and not exists (
      select from unnest(v_next.tenants, v_next.jobs) as n(tenant_id, job_id)
      join windlass_data.key_line as k on k.tenant_id = n.tenant_id and k.job_id = n.job_id
      where not k.held and k.tenant_id = m.tenant_id and k.kind = m.kind and k.key = m.key);
  update windlass_data.key_check as c set looked = nextval('windlass_data.ready_seq') where c.ctid = any (v_tids);
  if v_lanes is not null then
    perform windlass._note_work(v_lanes);
  end if;
end
$$;
comment on function windlass._call_keys(integer) is 'Let those jobs into line whose turn it is at their key.';
