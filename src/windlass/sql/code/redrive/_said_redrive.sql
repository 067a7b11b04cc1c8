-- What was said about a redrive, for the audit: the filter and the rest, as far as it was given.
-- definer: none
create function windlass._said_redrive(p_redrive windlass_data.redrive) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_strip_nulls(jsonb_build_object(
    'kinds', to_jsonb(p_redrive.kinds), 'queues', to_jsonb(p_redrive.queues), 'error_like', p_redrive.error_like,
    'died_from', p_redrive.died_from, 'died_to', p_redrive.died_to, 'jobs', cardinality(p_redrive.jobs),
    'max_attempts', p_redrive.max_attempts, 'throttle', p_redrive.throttle, 'stop_rate', p_redrive.stop_rate,
    'stop_after', case when p_redrive.stop_rate is not null then p_redrive.stop_after end,
    'expected', p_redrive.expected))
    || case when p_redrive.patch is null then '{}' else jsonb_build_object('patch', p_redrive.patch) end;
end
$$;
comment on function windlass._said_redrive(windlass_data.redrive) is 'What was said about a redrive, for the audit.';
