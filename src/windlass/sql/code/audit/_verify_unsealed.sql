-- Check a page of what is not sealed yet, after an event's id: the events must still be there.  `unsealed` counts them.
-- definer: none
create function windlass._verify_unsealed(p_tenant uuid, p_after uuid, p_limit integer)
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
  v_page record;
begin
  select count(*) as size, (array_agg(u.event_id order by u.event_id desc))[1] as last,
         (array_agg(u.event_id order by u.event_id) filter (where e.id is null))[1] as lost
  into v_page
  from (
    select u.event_id from windlass_data.unsealed as u
    where u.tenant_id = p_tenant and (p_after is null or u.event_id > p_after)
    order by u.event_id
    limit p_limit
  ) as u
  left join windlass_data.event as e on e.tenant_id = p_tenant and e.id = u.event_id;
  return query select f.* from windlass._audit_finding(
    v_page.size, case when v_page.size = p_limit then 'u.' || v_page.last else 'a.' end,
    case when v_page.lost is not null then 'event_removed' end,
    case when v_page.lost is not null then 'an event was removed before it was sealed' end,
    v_page.lost, p_unsealed => v_page.size) as f;
end
$$;
comment on function windlass._verify_unsealed is 'Check that what is not sealed yet is still there.';
