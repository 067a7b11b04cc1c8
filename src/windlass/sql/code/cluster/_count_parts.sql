-- How many parts of a cluster job count toward its quorum, and how many may still come to: the one text of it, for the
-- decision and for whoever explains it.  Only parts that succeeded or were skipped by their handler count.
-- definer: none
create function windlass._count_parts(p_tenant uuid, p_job uuid, out done integer, out open integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  select count(*) filter (where p.state in ('succeeded', 'skipped')), count(*) filter (where p.state in ('queued', 'running'))
  into done, open
  from windlass_data.cluster_part as p
  where p.tenant_id = p_tenant and p.job_id = p_job;
end
$$;
comment on function windlass._count_parts is 'How many parts of a cluster job are done, and how many are open.';
