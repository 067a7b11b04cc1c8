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
  v_by_state boolean := p_sources && array['all', 'correlated', 'line'] and p_states is not null
                        and not (p_sources = array['line'] and 'queued' = any (p_states));
  v_by_job boolean := p_lanes is not null or p_created_from is not null or p_created_to is not null;
  v_slice integer := case when v_by_state or v_by_job then greatest(p_limit, 1000) else p_limit end;
  v_cursor text := p_cursor;
  v_kept uuid[];
  v_next record;
  v_seen integer := 0;
  v_found integer := 0;
begin
  loop
    select array_agg(n.id order by n.place) as ids, array_agg(n.cursor order by n.place) as cursors,
           count(*)::integer as size
    into v_next
    from windlass._next_jobs(p_tenant, p_sources, p_lanes, p_correlation_id, v_cursor, v_slice) as n;
    exit when v_next.size = 0;

    v_kept := v_next.ids;
    if v_by_job then
      v_kept := array(
        select j.id from windlass_data.job as j
        where j.tenant_id = p_tenant and j.id = any (v_kept)
          and (p_lanes is null or j.lane_id = any (p_lanes))
          and (p_created_from is null or j.created_at >= p_created_from)
          and (p_created_to is null or j.created_at < p_created_to));
    end if;
    if v_by_state and cardinality(v_kept) > 0 then
      v_kept := array(
        select d.id from windlass._describe_jobs(p_tenant, v_kept) as d
        where d.state = any (p_states) or windlass._shown_state(d.state, d.counted, d.run_at) = any (p_states));
    end if;
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
