-- Drop the leases of which every job has its attempt, and count what is open in the others.
--
-- Of one that has run out, jobs that are gone are not open either: nobody could ever write their attempts, and it would
-- stay for ever.  A job finished in a handler's transaction gives up its turn at its key here: from now on it is not counted
-- as open, so its lease may go before anybody reports it.
-- definer: none
create function windlass._settle_leases(p_tokens uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_jobs uuid[] := array(
    select m.job_id from windlass_data.lease as l cross join lateral unnest(l.job_ids) as m(job_id) where l.id = any (p_tokens));
  v_written uuid[] := '{}';  -- the token of each attempt that is written, and of each job that is gone
  v_day record;
begin
  for v_day in select r.first, r.last from windlass._day_ranges(v_jobs) as r loop
    v_written := v_written || array(
      select l.id
      from windlass_data.lease as l
      cross join lateral unnest(l.job_ids, l.versions) as m(job_id, version)
      cross join lateral (
        select from windlass_data.attempt as a
        where a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version
          and a.job_id between v_day.first and v_day.last
        offset 0
      ) as a
      where l.id = any (p_tokens));
  end loop;
  if cardinality(v_written) < cardinality(v_jobs) then
    v_written := v_written || windlass._gone_jobs(p_tokens);
  end if;
  with left_open as materialized (  -- the leases are locked, so they stay where they are
    select l.ctid as place, l.open as counted, cardinality(l.job_ids) - coalesce(w.n, 0) as open
    from windlass_data.lease as l
    left join (select w.token, count(*) as n from unnest(v_written) as w(token) group by w.token) as w on w.token = l.id
    where l.id = any (p_tokens)
  ), done as (
    delete from windlass_data.lease as l where l.ctid = any (array(select o.place from left_open as o where o.open = 0))
  )
  update windlass_data.lease as l
  set open = o.open
  from left_open as o
  where l.ctid = o.place and o.open > 0 and o.counted <> o.open;
  if exists (select from windlass_data.key_line) then
    perform windlass._leave_key_lines(v_jobs);
  end if;
end
$$;
comment on function windlass._settle_leases(uuid[]) is 'Drop the leases that are done with.';
