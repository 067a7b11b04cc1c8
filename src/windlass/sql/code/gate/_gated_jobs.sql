-- The jobs under these leases that a gate has closed on since they were claimed.
-- definer: none
create function windlass._gated_jobs(p_tokens uuid[], p_now timestamptz)
returns table (token uuid, job_id uuid, code text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select h.token, h.job_id, g.code
  from (
    select le.id, case when bool_or(g.releases) then 'release_requested' else 'gated' end as code
    from windlass_data.lease as le
    join windlass_data.lane as l on l.id = le.lane_id
    left join windlass_data.node as n on n.id = le.node_id
    cross join lateral windlass._gates_on(
      l.tenant_id, l.queue, l.kind, array[n.name, le.node_id::text], p_now) as g
    where le.id = any (p_tokens)
    group by le.id
  ) as g
  join windlass._held_jobs(p_tokens) as h on h.token = g.id
  where not exists (
    select from windlass_data.attempt as a
    where a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version);
end
$$;
comment on function windlass._gated_jobs is 'Jobs that a gate has closed on since they were claimed.';
