-- The next tenant after another one that has events which are not sealed yet; only p_only, if that is given.
-- definer: none
create function windlass._next_unsealed(p_after uuid, p_only uuid) returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return case
    when p_only is not null then (
      select u.tenant_id from windlass_data.unsealed as u where u.tenant_id = p_only and p_after is null limit 1)
    when p_after is null then (
      select u.tenant_id from windlass_data.unsealed as u order by u.tenant_id limit 1)
    else (
      select u.tenant_id from windlass_data.unsealed as u where u.tenant_id > p_after order by u.tenant_id limit 1)
    end;
end
$$;
comment on function windlass._next_unsealed(uuid, uuid) is 'The next tenant that has events which are not sealed yet.';
