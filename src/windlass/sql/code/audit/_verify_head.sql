-- Compare the last seal of a tenant with the end of its chain, which is kept apart, and go on to the events.
-- definer: none
create function windlass._verify_head(p_tenant uuid, p_checked bigint, p_place bigint, p_hash bytea)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_head windlass_data.chain;
  v_fault text;
  v_message text;
begin
  select c.* into v_head from windlass_data.chain as c where c.tenant_id = p_tenant;
  if not found and p_place > 0 then
    v_fault := 'head_removed';
    v_message := format('the end of the chain was removed; its last seal is that of place %s', p_place);
  elsif v_head.place > p_place then
    v_fault := 'seal_removed';
    v_message := format(case v_head.place when p_place + 1 then 'the last seal, of place %2$s, was removed'
                             else 'the last seals, of places %1$s to %2$s, were removed' end, p_place + 1, v_head.place);
  elsif v_head.place < p_place then
    v_fault := 'seal_inserted';
    v_message := format('the chain ends at place %s, and seals up to place %s were put behind it', v_head.place, p_place);
  elsif v_head.hash <> p_hash then
    v_fault := 'head_altered';
    v_message := format('the end of the chain does not fit its last seal, of place %s: one of the two was altered', p_place);
  end if;
  return query select f.* from windlass._audit_finding(
    p_checked, 'e.', v_fault, v_message, p_place => case when v_fault is not null then greatest(p_place, v_head.place) end,
    p_sealed => p_place, p_head => p_place || ':' || encode(p_hash, 'hex')) as f;
end
$$;
comment on function windlass._verify_head(uuid, bigint, bigint, bytea) is 'Compare the last seal with the end of the chain.';
