-- Drop the leases of which every job has its attempt, and count what is open in the others.
-- definer: none
create function windlass._settle_leases(p_tokens uuid[]) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  with left_open as materialized (
    select l.id, count(*) filter (where a.job_id is null) as open
    from windlass_data.lease as l
    cross join lateral unnest(l.job_ids, l.versions) as m(job_id, version)
    left join windlass_data.attempt as a
      on a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version
    where l.id = any (p_tokens)
    group by l.id
  ), done as (
    delete from windlass_data.lease as l using left_open as o where l.id = o.id and o.open = 0
  )
  update windlass_data.lease as l set open = o.open from left_open as o where l.id = o.id and o.open > 0 and l.open <> o.open
$$;
comment on function windlass._settle_leases(uuid[]) is 'Drop the leases that are done with.';
