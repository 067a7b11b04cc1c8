-- The jobs that these leases were given, with what their attempts will record.
-- definer: none
create function windlass._held_jobs(p_tokens uuid[])
returns table (
  token uuid, tenant_id uuid, lane_id integer, node_id uuid, claimed_at timestamptz, job_id uuid, version integer,
  counted integer)
language plpgsql stable rows 500
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
begin
  return query
  select l.id, l.tenant_id, l.lane_id, l.node_id, l.claimed_at, m.job_id, m.version, m.counted
  from windlass_data.lease as l
  cross join lateral unnest(l.job_ids, l.versions, l.counted) as m(job_id, version, counted)
  where l.id = any (p_tokens) and (v_bound is null or l.tenant_id = v_bound);
end
$$;
comment on function windlass._held_jobs(uuid[]) is 'The jobs that these leases were given.';
