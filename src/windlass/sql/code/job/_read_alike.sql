-- What the jobs of one enqueue_many share, checked; so are the number of ids and the sizes of the payloads.
--
-- No payload is larger than all of them together, so most batches are measured at once.  A compressed value hides its
-- size, hence the second question.
-- definer: none
create function windlass._read_alike(p_job jsonb, p_payloads jsonb, p_ids uuid[]) returns windlass_data.new_job
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_jobs windlass_data.new_job[];
  v_place bigint;
  v_size integer;
begin
  if jsonb_typeof(p_payloads) is distinct from 'array' then
    raise exception 'the payloads must be an array' using errcode = 'WL007';
  elsif p_ids is null or array_ndims(p_ids) > 1 or array_position(p_ids, null) is not null
     or jsonb_array_length(p_payloads) <> cardinality(p_ids) then
    raise exception 'each payload needs an id' using errcode = 'WL007';
  elsif p_job ?| array['id', 'key', 'payload'] then
    raise exception 'jobs that share all but their payloads can share no id, key or payload' using errcode = 'WL007';
  end if;
  v_jobs := windlass._read_new_jobs(jsonb_build_array(p_job));
  v_jobs[1].payload := '{}';
  perform windlass._check_new_jobs(v_jobs);
  if pg_column_size(p_payloads) > 1048576 or pg_column_compression(p_payloads) is not null then
    select p.place, windlass._least_json_bytes(p.payload) into v_place, v_size
    from jsonb_array_elements(p_payloads) with ordinality as p(payload, place)
    where pg_column_size(p.payload) > 1048576 and windlass._least_json_bytes(p.payload) > 1048576
    limit 1;
    if found then
      raise exception 'job % of the batch: payload has at least % bytes as JSON, and 1048576 are allowed', v_place, v_size
        using errcode = 'WL007';
    end if;
  end if;
  if octet_length(p_payloads::text) > 67108864 then
    perform windlass._check_new_jobs(windlass._alike_jobs(v_jobs[1], p_payloads, p_ids));
  end if;
  return v_jobs[1];
end
$$;
comment on function windlass._read_alike(jsonb, jsonb, uuid[]) is 'What the jobs of one enqueue_many share, checked.';
