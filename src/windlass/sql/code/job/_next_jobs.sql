-- The next slice of a listing, before its filters: ids, each with the cursor behind it.
--
-- Waiting jobs alone (the source `line`) come as the claim sees them, with what their shown state depends on;
-- everything else newest first.
-- definer: none
create function windlass._next_jobs(
  p_tenant uuid, p_sources text[], p_lanes integer[], p_correlation_id text, p_cursor text, p_limit integer)
returns table (id uuid, cursor text, counted integer, run_at timestamptz, place bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_sources = array['line'] then
    return query select n.* from windlass._jobs_in_line(p_lanes, p_cursor, p_limit) with ordinality as n;
  else
    return query
    select n.id, 'i.' || n.id, null::integer, null::timestamptz, row_number() over (order by n.id desc)
    from (
      select n.id
      from unnest(p_sources) as s(source)
      cross join lateral windlass._jobs_by_id(
        p_tenant, s.source, p_correlation_id,
        coalesce(substr(p_cursor, 3)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), p_limit) as n(id)
      order by n.id desc
      limit p_limit
    ) as n;
  end if;
end
$$;
comment on function windlass._next_jobs is 'The next slice of a listing, before its filters.';
