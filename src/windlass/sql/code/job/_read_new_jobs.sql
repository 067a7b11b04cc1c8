-- Jobs as JSON objects become rows; an object that has more fields, or a field of another type, is refused.
-- definer: none
create function windlass._read_new_jobs(p_jobs jsonb) returns windlass_data.new_job[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields text[] := windlass._new_job_fields();
  v_odd record;
  v_jobs windlass_data.new_job[];
  v_place integer;
begin
  if p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    raise exception 'the jobs must be an array of objects' using errcode = 'WL007';
  end if;
  select e.place, jsonb_typeof(e.value) as type,
         case jsonb_typeof(e.value) when 'object' then e.value - v_fields end as extra
  into v_odd
  from jsonb_array_elements(p_jobs) with ordinality as e(value, place)
  where case jsonb_typeof(e.value) when 'object' then e.value - v_fields <> '{}' else true end
  limit 1;
  if found then
    raise exception 'job % of the batch: %', v_odd.place, case v_odd.type
      when 'object' then 'unknown field ' || (select min(k) from jsonb_object_keys(v_odd.extra) as k)
      else 'is not an object' end
      using errcode = 'WL007';
  end if;
  v_jobs := array(
    select jsonb_populate_record(null::windlass_data.new_job, e.value)
    from jsonb_array_elements(p_jobs) with ordinality as e(value, place)
    order by e.place);
  -- A payload may be the null of JSON, which the record cannot tell from none.
  for v_place in select s.place from generate_subscripts(v_jobs, 1) as s(place) where v_jobs[s.place].payload is null loop
    v_jobs[v_place].payload := case when p_jobs -> (v_place - 1) ? 'payload' then 'null' else '{}' end;
  end loop;
  perform windlass._refuse_reserved(n.queue, n.kind, n.ordinality::integer)
  from unnest(v_jobs) with ordinality as n
  where starts_with(n.queue, 'windlass.') or starts_with(n.kind, 'windlass.');
  return v_jobs;
exception
  when data_exception then
    raise exception 'a job of the batch has a field of the wrong type: %', sqlerrm using errcode = 'WL007';
end
$$;
comment on function windlass._read_new_jobs(jsonb) is 'Jobs to be enqueued, from their JSON.';
