-- Let the rest of this function act under a name, and return the setting to put back before it returns.
-- definer: none
create function windlass._act_as(p_actor text) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := current_setting('windlass.actor', true);
begin
  perform windlass._check_said(null, p_actor);
  perform set_config('windlass.actor', p_actor, true);
  return coalesce(v_before, '');
end
$$;
comment on function windlass._act_as(text) is 'Act under a name until the returned setting is put back.';
