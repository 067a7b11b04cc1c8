-- A document with a JSON merge patch (RFC 7396) applied: objects are merged, null removes, all else replaces.
-- definer: none
create function windlass._merge_patch(p_target jsonb, p_patch jsonb) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_merged jsonb := case when jsonb_typeof(p_target) = 'object' then p_target else '{}' end;
  v_key text;
  v_value jsonb;
begin
  if jsonb_typeof(p_patch) <> 'object' then
    return p_patch;
  end if;
  for v_key, v_value in select e.key, e.value from jsonb_each(p_patch) as e loop
    if v_value = 'null' then
      v_merged := v_merged - v_key;
    else
      v_merged := v_merged || jsonb_build_object(v_key, windlass._merge_patch(v_merged -> v_key, v_value));
    end if;
  end loop;
  return v_merged;
end
$$;
comment on function windlass._merge_patch(jsonb, jsonb) is 'A document with a JSON merge patch applied.';
