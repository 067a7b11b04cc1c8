-- What one attempt cost, with what came with its outcome; null if nothing was reported.
-- definer: none
create function windlass._cost_of(p_tenant uuid, p_job uuid, p_version integer, p_outcome bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sum numeric;
begin
  select sum(c.cents) into v_sum
  from windlass_data.cost as c
  where c.tenant_id = p_tenant and c.job_id = p_job and c.version = p_version;
  return case when v_sum is null then p_outcome
              else least(v_sum + coalesce(p_outcome, 0), 9223372036854775807)::bigint end;
end
$$;
comment on function windlass._cost_of is 'What one attempt cost.';
