-- The jobs with an id in this range that are not finished, read from the tables that name every such job, and those that
-- are finished and still named (_named_jobs).
--
-- Whatever comes to hold jobs that neither wait in line nor run must be named here, or a drop of their day loses them.
-- `ready` is read whole: it has no index by job, and is worth none.
-- definer: none
create function windlass._live_jobs(p_from uuid, p_to uuid)
returns table (tenant_id uuid, job_id uuid)
language sql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = on
set max_parallel_workers_per_gather = 0
as $$
  select n.tenant_id, n.job_id from windlass._named_jobs() as n where n.job_id >= p_from and n.job_id < p_to
  union all
  select s.tenant_id, s.job_id from windlass_data.scheduled as s where s.job_id >= p_from and s.job_id < p_to
  union all
  select r.tenant_id, r.job_id from windlass_data.ready as r where r.job_id >= p_from and r.job_id < p_to
$$;
comment on function windlass._live_jobs(uuid, uuid) is 'The unfinished jobs with an id in this range.';
