-- The next waiting jobs of these lanes: first those in line, in the order of the claim, then those put off, newest
-- first.  A cursor is r.<priority>.<seq> or s.<job>.
--
-- Each lane gives at most a page, read in the order of an index whatever the statistics say, so the work does not
-- grow with the length of the line.
-- definer: none
create function windlass._jobs_in_line(p_lanes integer[], p_cursor text, p_limit integer)
returns table (id uuid, cursor text, counted integer, run_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_priority integer := case when p_cursor like 'r.%' then split_part(p_cursor, '.', 2)::integer else 32767 end;
  v_seq bigint := case when p_cursor like 'r.%' then split_part(p_cursor, '.', 3)::bigint else 0 end;
  v_before uuid := case when p_cursor like 's.%' then substr(p_cursor, 3)
                        else 'ffffffff-ffff-ffff-ffff-ffffffffffff' end;
  v_found integer := 0;
begin
  if p_cursor is null or p_cursor like 'r.%' then
    return query
    select r.job_id, format('r.%s.%s', l.priority, r.seq), r.counted, null::timestamptz
    from windlass_data.lane as l
    cross join lateral (
      select r.job_id, r.seq, r.counted
      from windlass_data.ready as r
      where r.lane_id = l.id and r.seq > case when l.priority = v_priority then v_seq else 0 end
      order by r.seq
      limit p_limit
    ) as r
    where l.id = any (p_lanes) and l.priority <= v_priority
    order by l.priority desc, r.seq
    limit p_limit;
    get diagnostics v_found = row_count;
  end if;
  return query
  select s.job_id, 's.' || s.job_id, s.counted, s.run_at
  from unnest(p_lanes) as l(id)
  cross join lateral (
    select s.job_id, s.counted, s.run_at
    from windlass_data.scheduled as s
    where s.lane_id = l.id and s.job_id < v_before
    order by s.job_id desc
    limit p_limit - v_found
  ) as s
  order by s.job_id desc
  limit p_limit - v_found;
end
$$;
comment on function windlass._jobs_in_line is 'The next waiting jobs, in the order of the claim.';
