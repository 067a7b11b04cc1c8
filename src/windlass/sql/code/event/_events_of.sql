-- The next events of one action below an id, newest first.
--
-- Read in the order of their index whatever the statistics say: rows are compared and ordered with their action, as only
-- that index is.  Another plan would read all of a tenant's events to find the few.
-- definer: none
create function windlass._events_of(p_tenant uuid, p_action text, p_before uuid, p_limit integer)
returns setof windlass_data.event
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
  select e.* from windlass_data.event as e
  where e.tenant_id = p_tenant and e.action >= p_action and (e.action, e.id) < (p_action, p_before)
  order by e.action desc, e.id desc
  limit p_limit;
end
$$;
comment on function windlass._events_of is 'The next events of one action, newest first.';
