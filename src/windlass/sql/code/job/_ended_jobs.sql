-- Jobs of the entered tenant that ended dead, canceled or skipped, newest first, below an id.
--
-- The engine runs it, because a comparison of states is not leakproof: under row-level security no index could
-- serve it.  The tenant is therefore no argument but the one that the transaction has entered.  Rows are compared
-- and ordered with their state, as only the indexes of the rarer ends are.
-- definer: engine
create function windlass._ended_jobs(p_state windlass_data.job_state, p_before uuid, p_limit integer) returns setof uuid
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_tenant uuid := windlass_data.current_tenant();
begin
  return query
  select e.id
  from (
    (select a.job_id as id
     from windlass_data.attempt as a
     where a.tenant_id = v_tenant and a.ends in ('dead', 'canceled', 'skipped')
       and a.ends >= p_state and (a.ends, a.job_id) < (p_state, p_before)
     order by a.ends desc, a.job_id desc
     limit p_limit)
    union all
    (select j.id
     from windlass_data.job as j
     where j.tenant_id = v_tenant and j.ended_state is not null
       and j.ended_state >= p_state and (j.ended_state, j.id) < (p_state, p_before)
     order by j.ended_state desc, j.id desc
     limit p_limit)
  ) as e
  order by e.id desc
  limit p_limit;
end
$$;
comment on function windlass._ended_jobs is 'Jobs that ended in one of the rarer ways, newest first.';
