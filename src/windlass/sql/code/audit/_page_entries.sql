-- The attempts that a page lists.
-- definer: none
create function windlass._page_entries(p_page bytea) returns table (job_id uuid, version integer, digest bytea)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select encode(substr(e.entry, 1, 16), 'hex')::uuid, ('x' || encode(substr(e.entry, 17, 4), 'hex'))::bit(32)::integer,
         substr(e.entry, 21, 16)
  from (
    select substr(p_page, 36 * n + 1, 36) as entry from generate_series(0, length(p_page) / 36 - 1) as n
  ) as e;
end
$$;
comment on function windlass._page_entries(bytea) is 'The attempts that a page lists.';
