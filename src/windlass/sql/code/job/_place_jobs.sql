-- Note the places in line that these jobs have from now on; null: none.  The caller holds their rows, and has learned from
-- _lock_jobs where they lie.
--
-- Found by that and by nothing else: a plan that joins many jobs of a day may go wrong where its statistics are old.
-- definer: none
create function windlass._place_jobs(p_jobs uuid[], p_tids tid[], p_seqs bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
set enable_seqscan = off
set enable_indexscan = off
set enable_bitmapscan = off
set enable_nestloop = off
as $$
declare
  v_job uuid := p_jobs[1];
  v_tid tid := p_tids[1];
  v_day record;
begin
  if cardinality(p_jobs) = 1 then  -- as for many, but planned in half the time
    update windlass_data.job as j set seq = p_seqs[1] where j.ctid = v_tid and j.id = v_job;
    return;
  end if;
  for v_day in select r.first, r.last from windlass._day_ranges(p_jobs) as r loop
    update windlass_data.job as j
    set seq = n.seq
    from unnest(p_jobs, p_tids, p_seqs) as n(job_id, tid, seq)
    where j.ctid = any (p_tids) and j.ctid = n.tid and j.id = n.job_id
      and j.id between v_day.first and v_day.last;
  end loop;
end
$$;
comment on function windlass._place_jobs is 'Note the places in line of jobs.';
