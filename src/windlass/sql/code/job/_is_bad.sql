-- Whether a job could never run; _check_new_jobs says why.  Its body is part of whatever asks, at no cost of a call.
--
-- A payload may be 64 times as long in the database's writing as it may be in the caller's: that is more than floating
-- point comes to.  Numbers beyond that (1e100000) could be written out by nobody who claims.
-- windlass: after tenant/_is_time, job/_least_json_bytes
-- definer: none
create function windlass._is_bad(p_job windlass_data.new_job) returns boolean
language sql stable
return
  p_job.payload is null
  or (pg_column_size(p_job.payload) > 1048576 and windlass._least_json_bytes(p_job.payload) > 1048576)
  or octet_length(p_job.payload::text) > 67108864
  or p_job.max_attempts not between 1 and 32767 or p_job.timeout_ms <= 0 or length(p_job.key) not between 1 and 500
  or p_job.scope not in ('forever', 'active') or not windlass._is_time(p_job.run_at)
  or length(p_job.trace_id) > 200 or length(p_job.correlation_id) > 200
  or length(p_job.concurrency_key) not between 1 and 500 or p_job.concurrency_limit not between 1 and 1000
  or (p_job.concurrency_limit is not null and p_job.concurrency_key is null)
  or (p_job.retry is not null and windlass._bad_retry(p_job.retry) is not null);
comment on function windlass._is_bad(windlass_data.new_job) is 'Whether a job could never run.';
