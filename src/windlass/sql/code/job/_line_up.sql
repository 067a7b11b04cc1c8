-- Put waiting jobs, whose rows in `scheduled` the caller holds, into line, at the back of their lanes in the order given.
-- Returns the lanes, and the jobs that were passed over because somebody holds them (to cancel them, say).
-- definer: none
create function windlass._line_up(p_tenants uuid[], p_jobs uuid[], out lanes integer[], out passed uuid[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_sort = on  -- else a promotion, which goes without, joins row by row
as $$
declare
  v_free record;
  v_placed record;
begin
  select array_agg(l.tenant_id order by n.place) as tenants, array_agg(l.job_id order by n.place) as jobs,
         array_agg(l.tid order by n.place) as tids
  into v_free
  from windlass._lock_jobs(p_tenants, p_jobs, p_wait => false) as l
  join unnest(p_tenants, p_jobs) with ordinality as n(tenant_id, job_id, place)
    on n.tenant_id = l.tenant_id and n.job_id = l.job_id;
  passed := '{}';
  if cardinality(v_free.jobs) is distinct from cardinality(p_jobs) then
    passed := array(select n.job_id from unnest(p_jobs) as n(job_id) where n.job_id <> all (coalesce(v_free.jobs, '{}')));
  end if;
  if v_free.jobs is null then
    return;
  end if;
  with moved as (
    delete from windlass_data.scheduled as s
    using unnest(v_free.tenants, v_free.jobs, v_free.tids) with ordinality as f(tenant_id, job_id, tid, place)
    where s.tenant_id = f.tenant_id and s.job_id = f.job_id
    returning s.*, f.tid, f.place
  ), placed as materialized (
    select m.*, nextval('windlass_data.ready_seq') as seq from (select m.* from moved as m order by m.place) as m
  ), lined_up as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select p.lane_id, p.seq, p.tenant_id, p.job_id, p.version, p.counted from placed as p
  )
  select array_agg(distinct p.lane_id) as lanes, array_agg(p.job_id) as jobs, array_agg(p.tid) as tids,
         array_agg(p.seq) as seqs
  into v_placed from placed as p;
  lanes := v_placed.lanes;
  perform windlass._place_jobs(v_placed.jobs, v_placed.tids, v_placed.seqs);
end
$$;
comment on function windlass._line_up is 'Put waiting jobs into line.';
