-- Check a page of a tenant's events after an id: each has a seal, or is noted as not yet sealed and is as it was noted.
-- definer: none
create function windlass._verify_events(p_tenant uuid, p_after uuid, p_limit integer)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_next record;
  v_last uuid;
  v_seen integer := 0;
begin
  for v_next in
    select e.id, e.at,
           case when s.event_id is not null then null
                when u.event_id is null then 'event_inserted'
                when windlass_data.event_digest(e) <> u.digest then 'event_altered' end as fault
    from (
      select e.* from windlass_data.event as e
      where e.tenant_id = p_tenant and (p_after is null or e.id > p_after)
      order by e.id
      limit p_limit
    ) as e
    left join windlass_data.seal as s on s.tenant_id = p_tenant and s.event_id = e.id
    left join windlass_data.unsealed as u on u.tenant_id = p_tenant and u.event_id = e.id
    order by e.id
  loop
    if v_next.fault is not null then
      return query select f.* from windlass._audit_finding(
        v_seen, null, v_next.fault,
        case v_next.fault when 'event_inserted' then 'an event was inserted: it was never sealed nor noted for it'
             else 'an event was altered before it was sealed' end,
        v_next.id, p_at => v_next.at) as f;
      return;
    end if;
    v_seen := v_seen + 1;
    v_last := v_next.id;
  end loop;
  return query select f.* from windlass._audit_finding(
    v_seen, case when v_seen = p_limit then 'e.' || v_last else 'u.' end) as f;
end
$$;
comment on function windlass._verify_events is 'Check that each of a tenant''s events is accounted for.';
