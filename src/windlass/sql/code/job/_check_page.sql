-- Refuse a page size out of range, and a cursor that this listing cannot have given: one of the forms i.<uuid>,
-- s.<uuid> or r.<number>.<number>, its first letter among p_forms.
-- definer: none
create function windlass._check_page(p_limit integer, p_cursor text, p_forms text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    raise exception 'a page has 1 to 1000 rows' using errcode = 'WL007';
  elsif p_cursor is not null and (
    strpos(p_forms, left(p_cursor, 1)) = 0
    or p_cursor !~ '^([is]\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|r\.-?[0-9]{1,5}\.[0-9]{1,18})$'
  ) then
    raise exception 'the cursor is not one that this listing gave' using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._check_page is 'Refuse a page size or a cursor that makes no sense.';
