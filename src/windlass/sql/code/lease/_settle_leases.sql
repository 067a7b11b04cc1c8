-- Drop the leases of which every job has its attempt, and count what is open in the others.
-- definer: none
create function windlass._settle_leases(p_tokens uuid[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  with left_open as materialized (
    select l.id, count(*) filter (where a.job_id is null) as open
    from windlass_data.lease as l
    cross join lateral unnest(l.job_ids, l.versions) as m(job_id, version)
    left join lateral (
      select a.job_id from windlass_data.attempt as a
      where a.tenant_id = l.tenant_id and a.job_id = m.job_id and a.version = m.version
      offset 0
    ) as a on true
    where l.id = any (p_tokens)
    group by l.id
  ), done as (
    delete from windlass_data.lease as l
    where l.id = any (array(select o.id from left_open as o where o.open = 0))
  )
  update windlass_data.lease as l
  set open = o.open
  from left_open as o
  where l.id = o.id and o.open > 0 and l.open <> o.open;
end
$$;
comment on function windlass._settle_leases(uuid[]) is 'Drop the leases that are done with.';
