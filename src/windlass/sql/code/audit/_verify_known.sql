-- A finding if the chain of a tenant no longer leads through a head that was noted earlier; else no row.  Nothing but such
-- a note shows that somebody who can write every table has written the whole chain anew.
-- definer: none
create function windlass._verify_known(p_tenant uuid, p_known text)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_place bigint := split_part(p_known, ':', 1);
  v_hash text;
begin
  if v_place > 0 then
    select encode(s.hash, 'hex') into v_hash from windlass_data.seal as s
    where s.tenant_id = p_tenant and s.place = v_place;
    if v_hash is distinct from split_part(p_known, ':', 2) then
      return query select f.* from windlass._audit_finding(
        0, null, 'chain_rewritten', format(
          case when v_hash is null then 'the chain no longer has place %s, which it had when the head was noted'
               else 'place %s has another hash than when the head was noted: the chain was written anew' end, v_place),
        p_place => v_place) as f;
    end if;
  end if;
end
$$;
comment on function windlass._verify_known(uuid, text) is 'Whether a chain still leads through a head noted earlier.';
