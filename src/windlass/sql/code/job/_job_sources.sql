-- Where a listing of these states looks: `line` (waiting jobs alone), `correlated`, `all`, or the states themselves.
-- definer: none
create function windlass._job_sources(p_states text[], p_correlation_id text) returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_waiting constant text[] := array['queued', 'scheduled', 'retrying'];
  v_odd text;
begin
  select s into v_odd from unnest(p_states) as s
  where s is null or s <> all (v_waiting || array['blocked', 'running', 'succeeded', 'dead', 'canceled', 'skipped'])
  limit 1;
  if found or cardinality(p_states) = 0 then
    raise exception '% is no state of a job', coalesce(quote_literal(v_odd), 'an empty list') using errcode = 'WL007',
      hint = 'The states are blocked, queued (also scheduled, retrying), running, succeeded, dead, canceled, skipped.';
  end if;
  return case
    when p_correlation_id is not null then array['correlated']
    when p_states <@ v_waiting then array['line']
    when p_states is null or p_states && v_waiting then array['all']
    else array(select distinct s from unnest(p_states) as s)
  end;
end
$$;
comment on function windlass._job_sources is 'Where a listing of these states looks.';
