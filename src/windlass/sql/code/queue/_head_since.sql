-- Since when the first job of a lane could have been claimed: it was enqueued, fell due, or was given back.
--
-- Whoever knows that nothing is in line up to a place gives it (p_after): rows that were claimed need not be stepped over.
-- definer: none
create function windlass._head_since(p_lane integer, p_after bigint default 0) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select greatest(j.created_at, j.run_at, (
    select a.finished_at from windlass_data.attempt as a
    where a.tenant_id = j.tenant_id and a.job_id = j.id and a.version = r.version))
  from (
    select r.* from windlass_data.ready as r where r.lane_id = p_lane and r.seq > p_after order by r.seq limit 1
  ) as r
  join windlass_data.job as j on j.tenant_id = r.tenant_id and j.id = r.job_id
$$;
comment on function windlass._head_since(integer, bigint) is 'Since when the first job of a lane could have been claimed.';
