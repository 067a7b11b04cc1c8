-- Refuse a check of an audit that makes no sense: a tenant that is not there, a page, a cursor or a head of another form.
-- definer: none
create function windlass._check_verify(p_tenant uuid, p_cursor text, p_limit integer, p_known text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant <> '00000000-0000-0000-0000-000000000000'
     and not exists (select from windlass_data.tenant as t where t.id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'WL001';
  elsif p_limit is null or p_limit not between 1 and 100000 then
    raise exception 'a page of a check has 1 to 100000 rows' using errcode = 'WL007';
  elsif p_cursor !~ '^(c\.[0-9]{1,18}|a\.([0-9]{1,18})?|[eu]\.([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?)$' then
    raise exception 'the cursor is not one that this check gave' using errcode = 'WL007';
  elsif p_known !~ '^[0-9]{1,18}:([0-9a-f]{64})?$' then
    raise exception 'a known head is a place, a colon and 64 hexadecimal digits, as a check has shown it'
      using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._check_verify is 'Refuse a check of an audit that makes no sense.';
