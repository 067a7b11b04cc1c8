-- Delete up to p_limit jobs of one pair of tables, with all that is kept for them alone, and return how many.
--
-- p_before says for each state up to which finish a job goes.  _due_jobs locked the jobs with a snapshot that may be
-- older than their last move, so what is asked here, in a new statement, decides: a job revived meanwhile stays.
-- Events are audit and stay.
-- definer: none
create function windlass._prune_slice(p_part text, p_before jsonb, p_limit integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_due record;
  v_tenants uuid[];
  v_jobs uuid[];
  v_removed integer := 0;
begin
  for v_due in select s.key as state, s.value::timestamptz as before from jsonb_each_text(p_before) as s loop
    select array_agg(d.tenant_id), array_agg(d.job_id) into v_tenants, v_jobs
    from windlass._due_jobs(p_part, v_due.state, v_due.before, p_limit - v_removed) as d;
    select array_agg(d.tenant_id), array_agg(d.id) into v_tenants, v_jobs
    from (
      select t.tenant_id, array_agg(t.job_id) as ids
      from unnest(v_tenants, v_jobs) as t(tenant_id, job_id)
      group by t.tenant_id
    ) as t
    cross join lateral windlass._describe_jobs(t.tenant_id, t.ids) as d
    where d.state = v_due.state and d.finished_at <= v_due.before;
    continue when v_jobs is null;

    delete from windlass_data.attempt as a
    using unnest(v_tenants, v_jobs) as g(tenant_id, job_id)
    where a.tenant_id = g.tenant_id and a.job_id = g.job_id;
    delete from windlass_data.cost as c
    using unnest(v_tenants, v_jobs) as g(tenant_id, job_id)
    where c.tenant_id = g.tenant_id and c.job_id = g.job_id;
    delete from windlass_data.job as j
    using unnest(v_tenants, v_jobs) as g(tenant_id, job_id)
    where j.tenant_id = g.tenant_id and j.id = g.job_id;
    delete from windlass_data.cancel_request as c
    using unnest(v_tenants, v_jobs) as g(tenant_id, job_id)
    where c.tenant_id = g.tenant_id and c.job_id = g.job_id;
    delete from windlass_data.idempotency_key as k
    where k.ctid = any (array(
      select k.ctid
      from unnest(v_tenants, v_jobs) as g(tenant_id, job_id)
      join windlass_data.idempotency_key as k on k.tenant_id = g.tenant_id and k.job_id = g.job_id
      for update of k skip locked));
    v_removed := v_removed + cardinality(v_jobs);
    exit when v_removed >= p_limit;
  end loop;
  return v_removed;
end
$$;
comment on function windlass._prune_slice(text, jsonb, integer) is 'Delete some finished jobs of one pair of tables.';
