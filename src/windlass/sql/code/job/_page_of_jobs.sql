-- One page of a listing: ids, each with the cursor behind it.
--
-- Goes through its sources in slices and keeps what passes the filters, so that a page is bounded work however few
-- pass: having looked at 20,000 jobs it stops, and a last row without an id carries the cursor to go on from.
-- definer: none
create function windlass._page_of_jobs(
  p_tenant uuid, p_states text[], p_sources text[], p_lanes integer[], p_correlation_id text,
  p_created_from timestamptz, p_created_to timestamptz, p_limit integer, p_cursor text)
returns table (id uuid, cursor text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- What the sources have not seen to already.
  v_line boolean := p_sources = array['line'];
  v_shown text[] := case when v_line and 'queued' <> all (p_states) then p_states end;
  v_states text[] := case when p_sources && array['all', 'correlated'] then p_states end;
  v_lanes integer[] := case when not v_line then p_lanes end;
  v_slice integer := case when num_nonnulls(v_shown, v_states, v_lanes, p_created_from, p_created_to) > 0
                          then greatest(p_limit, 1000) else p_limit end;
  v_cursor text := case when v_shown = array['scheduled'] and p_cursor is null
                        then 's.ffffffff-ffff-ffff-ffff-ffffffffffff' else p_cursor end;
  v_next record;
  v_kept uuid[];
  v_seen integer := 0;
  v_found integer := 0;
begin
  loop
    select array_agg(n.id order by n.place) as ids, array_agg(n.cursor order by n.place) as cursors,
           array_agg(n.id) filter (
             where v_shown is null or windlass._shown_state('queued', n.counted, n.run_at) = any (v_shown)) as kept,
           count(*)::integer as size
    into v_next
    from windlass._next_jobs(p_tenant, p_sources, p_lanes, p_correlation_id, v_cursor, v_slice) as n;
    exit when v_next.size = 0;

    v_kept := windlass._keep_jobs(
      p_tenant, coalesce(v_next.kept, '{}'), v_states, v_lanes, p_created_from, p_created_to);
    return query
    select n.id, n.cursor
    from unnest(v_next.ids, v_next.cursors) with ordinality as n(id, cursor, place)
    where n.id = any (v_kept)
    order by n.place
    limit p_limit - v_found;

    v_found := v_found + least(cardinality(v_kept), p_limit - v_found);
    v_seen := v_seen + v_next.size;
    v_cursor := v_next.cursors[v_next.size];
    exit when v_found = p_limit or v_next.size < v_slice;
    if v_seen >= 20000 then
      return query select null::uuid, v_cursor;
      exit;
    end if;
  end loop;
end
$$;
comment on function windlass._page_of_jobs is 'One page of a listing of jobs.';
