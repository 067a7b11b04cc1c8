-- Those of these jobs that pass the filters of a listing.  Null passes everything.
-- definer: none
create function windlass._keep_jobs(
  p_tenant uuid, p_ids uuid[], p_states text[], p_lanes integer[], p_created_from timestamptz, p_created_to timestamptz)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kept uuid[] := p_ids;
begin
  if num_nonnulls(p_lanes, p_created_from, p_created_to) > 0 then
    v_kept := array(
      select j.id from windlass_data.job as j
      where j.tenant_id = p_tenant and j.id = any (v_kept)
        and (p_lanes is null or j.lane_id = any (p_lanes))
        and (p_created_from is null or j.created_at >= p_created_from)
        and (p_created_to is null or j.created_at < p_created_to));
  end if;
  if p_states is not null and cardinality(v_kept) > 0 then
    v_kept := array(
      select d.id from windlass._describe_jobs(p_tenant, v_kept) as d
      where d.state = any (p_states) or windlass._shown_state(d.state, d.counted, d.run_at) = any (p_states));
  end if;
  return v_kept;
end
$$;
comment on function windlass._keep_jobs is 'Those of these jobs that pass the filters of a listing.';
