-- Whether there is a job of this id: planned for its day (see _day_ranges), so that no other is opened.
-- definer: none
create function windlass._is_there(p_tenant uuid, p_id uuid) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
begin
  return exists (select from windlass_data.job as j where j.tenant_id = p_tenant and j.id = p_id);
end
$$;
comment on function windlass._is_there(uuid, uuid) is 'Whether there is a job of this id.';
