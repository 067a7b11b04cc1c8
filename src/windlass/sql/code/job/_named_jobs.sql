-- The jobs, finished ones too, that a lease names or of which the parts are not closed: pruning leaves them.
--
-- An attempt is all that refuses a late word, and a lease is settled by counting attempts; parts are closed by looking at the
-- job.  Where the job is gone before that, they stay for ever, or count another job of the lease out.
-- definer: none
create function windlass._named_jobs() returns table (tenant_id uuid, job_id uuid)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.tenant_id, m.job_id from windlass_data.lease as l cross join lateral unnest(l.job_ids) as m(job_id)
  union all
  select c.tenant_id, c.job_id from windlass_data.cluster_job as c where c.ended_at is null
$$;
comment on function windlass._named_jobs() is 'The jobs that must stay although they may be finished.';
