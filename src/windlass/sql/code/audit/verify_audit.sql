-- Check a page of a tenant's audit, or of the installation's (the nil id), and say what is wrong first: what (`fault`), in
-- words (`message`), and where (event, place, time).  p_cursor, as the last page gave it, goes on; null is the end.
--
-- Four walks, one after the other: along the chain, every seal against the one before it and against its event, and its
-- end against the row kept apart (`sealed`, `head`); over the events, for those that nothing accounts for; over what is
-- not sealed yet (`unsealed`); over the attempts, against the lists of them that were sealed.  p_known is a head that was
-- noted earlier: the chain must still lead through it.
-- definer: owner
-- grant: operator, reader
create function windlass.verify_audit(
  p_tenant uuid, p_cursor text default null, p_limit integer default 10000, p_known text default null)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_walk text := coalesce(left(p_cursor, 1), 'c');
  v_from text := nullif(substr(p_cursor, 3), '');
begin
  perform windlass._check_verify(p_tenant, p_cursor, p_limit, p_known);
  return query
  select v.checked, v.cursor, v.fault, v.message, v.event_id, v.place, v.at, v.sealed, v.head, v.unsealed
  from windlass._verify_known(p_tenant, case when p_cursor is null then p_known end) as v;
  if not found then
    if v_walk = 'c' then
      return query select v.* from windlass._verify_chain(p_tenant, v_from::bigint, p_limit) as v;
    elsif v_walk = 'e' then
      return query select v.* from windlass._verify_events(p_tenant, v_from::uuid, p_limit) as v;
    elsif v_walk = 'a' then
      perform windlass._hold_days();
      return query select v.* from windlass._verify_attempts(v_from::bigint, p_limit) as v;
    else
      return query select v.* from windlass._verify_unsealed(p_tenant, v_from::uuid, p_limit) as v;
    end if;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.verify_audit is 'Check a page of an audit, and name what was altered, removed or inserted.';
