-- Refuse a batch that holds a job which could never run, naming the job and the field.
--
-- Queue, kind and priority are checked where their lane is made: a lane that exists is proof that they are good.
-- definer: none
create function windlass._check_new_jobs(p_jobs windlass_data.new_job[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  if not exists (select from unnest(p_jobs) as n where windlass._is_bad(n)) then
    return;
  end if;
  select n.ordinality as place, f.field, f.why into v_bad
  from unnest(p_jobs) with ordinality as n
  cross join lateral (
    values
      ('payload', case when n.payload is null then 'is missing'
                       when pg_column_size(n.payload) > 1048576 and windlass._least_json_bytes(n.payload) > 1048576
                       then format('has at least %s bytes as JSON, and 1048576 are allowed',
                                   windlass._least_json_bytes(n.payload))
                       when octet_length(n.payload::text) > 67108864
                       then format('has %s bytes with its numbers written out, and 67108864 are allowed',
                                   octet_length(n.payload::text)) end),
      ('max_attempts', case when n.max_attempts not between 1 and 32767 then 'must be from 1 to 32767' end),
      ('timeout_ms', case when n.timeout_ms <= 0 then 'must be positive' end),
      ('key', case when length(n.key) not between 1 and 500 then 'must have 1 to 500 characters' end),
      ('scope', case when n.scope not in ('forever', 'active') then 'must be forever or active' end),
      ('run_at', case when not windlass._is_time(n.run_at) then 'must be a time from 1970-01-01 to 9999-12-30, 0:00 UTC' end),
      ('trace_id', case when length(n.trace_id) > 200 then 'must have at most 200 characters' end),
      ('correlation_id', case when length(n.correlation_id) > 200 then 'must have at most 200 characters' end),
      ('concurrency_key', case when length(n.concurrency_key) not between 1 and 500 then 'must have 1 to 500 characters'
                               when n.concurrency_limit is not null and n.concurrency_key is null
                               then 'is missing, and concurrency_limit needs one' end),
      ('concurrency_limit', case when n.concurrency_limit not between 1 and 1000 then 'must be from 1 to 1000' end),
      ('retry', windlass._bad_retry(n.retry))
  ) as f(field, why)
  where f.why is not null
  limit 1;
  raise exception '%', windlass._of_batch(v_bad.place, p_jobs) || v_bad.field || ' ' || v_bad.why using errcode = 'WL007';
end
$$;
comment on function windlass._check_new_jobs(windlass_data.new_job[]) is 'Refuse jobs that could never run.';
