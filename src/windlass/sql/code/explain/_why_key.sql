-- Who has the turn at the key of a job that waits for it.
-- definer: none
create function windlass._why_key(p_key windlass_data.key_line) returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ahead bigint;
  v_holders uuid[];
begin
  select count(*) into v_ahead
  from (
    select from windlass_data.key_line as k
    where k.tenant_id = p_key.tenant_id and k.kind = p_key.kind and k.key = p_key.key and not k.held
      and (k.priority, -k.place) > (p_key.priority, -p_key.place)
    limit 10000
  ) as k;
  v_holders := array(
    select k.job_id from windlass_data.key_line as k
    where k.tenant_id = p_key.tenant_id and k.kind = p_key.kind and k.key = p_key.key and k.held
    order by k.place limit 10);
  return next (
    'key', true,
    format('%s of kind %s with the key %L may run at a time; now: %s; before it in line: %s', p_key.allowed, p_key.kind,
           p_key.key, coalesce(nullif(array_to_string(v_holders, ', '), ''), 'nobody yet'), v_ahead),
    'the end of these jobs, in order', null,
    jsonb_build_object('key', p_key.key, 'running', v_holders, 'maximum', p_key.allowed, 'ahead', v_ahead)
  )::windlass_data.reason;
end
$$;
comment on function windlass._why_key is 'Who has the turn at a key.';
