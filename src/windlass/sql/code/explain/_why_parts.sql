-- What a cluster job waits for before its leader acts.
-- definer: none
create function windlass._why_parts(p_job windlass_data.job) returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select 'parts', true,
         format('%s of its %s parts are done, and %s are needed', p.done, c.parts, c.needed),
         'its parts on the other nodes' || case when c.deadline_at is not null then ', or the time being up' else '' end,
         c.deadline_at, jsonb_build_object('parts', c.parts, 'needed', c.needed, 'done', p.done)
  from windlass_data.cluster_job as c
  cross join lateral windlass._count_parts(c.tenant_id, c.job_id) as p
  where c.tenant_id = p_job.tenant_id and c.job_id = p_job.id and c.settled_at is null;
end
$$;
comment on function windlass._why_parts is 'What a cluster job waits for.';
