-- What one page of a check found, as all its walks tell it.  A fault ends the check, so it has no cursor.
-- definer: none
create function windlass._audit_finding(
  p_checked bigint, p_cursor text, p_fault text default null, p_message text default null, p_event uuid default null,
  p_place bigint default null, p_at timestamptz default null, p_sealed bigint default null, p_head text default null,
  p_unsealed bigint default null)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select p_checked::integer, case when p_fault is null then p_cursor end, p_fault, p_message, p_event, p_place,
                      p_at, p_sealed, p_head, p_unsealed::integer;
end
$$;
comment on function windlass._audit_finding is 'What one page of a check found.';
