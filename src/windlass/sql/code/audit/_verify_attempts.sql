-- Check a page of a tenant's attempts against the lists of them in its chain, behind a window's number: whatever a list has is
-- still so, unless retention took it with its job, and whatever ended in the time of these lists is in one of them.
--
-- The engine runs it: up to when retention went is the installation's matter, of which a tenant sees nothing.  The tenant is
-- therefore no argument but the one that the transaction has entered.
-- definer: engine
create function windlass._verify_attempts(p_after bigint, p_limit integer)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant uuid := windlass_data.current_tenant();
  v_from timestamptz := coalesce((
    select (e.details ->> 'to')::timestamptz from windlass_data.event as e
    where e.tenant_id = v_tenant and e.action = 'attempts.seal' and (e.details ->> 'number')::bigint = p_after), '-infinity');
  v_to timestamptz := (select s.sealed_to from windlass_data.sealing as s);
  v_next record;
  v_lists uuid[] := '{}';
  v_seen bigint := 0;
  v_more bigint;
  v_wrong record;
begin
  for v_next in
    select e.id, (e.details ->> 'number')::bigint as number, (e.details ->> 'attempts')::bigint as attempts,
           (e.details ->> 'to')::timestamptz as ended_to
    from windlass_data.event as e
    where e.tenant_id = v_tenant and e.action = 'attempts.seal' and (e.details ->> 'number')::bigint > coalesce(p_after, 0)
    order by (e.details ->> 'number')::bigint
  loop
    v_lists := v_lists || v_next.id;
    v_seen := v_seen + v_next.attempts;
    if v_seen >= p_limit then
      v_more := v_next.number;
      v_to := v_next.ended_to;
      exit;
    end if;
  end loop;
  select w.* into v_wrong from windlass._wrong_attempts(v_tenant, v_lists, v_from, v_to) as w;
  return query select f.* from windlass._audit_finding(
    v_seen, 'a.' || v_more, v_wrong.fault, v_wrong.message, v_wrong.event_id, v_wrong.place, v_wrong.at) as f;
end
$$;
comment on function windlass._verify_attempts is 'Check a page of a tenant''s attempts against the chain.';
