-- The fields that a job of enqueue_jobs may have.
-- definer: none
create function windlass._new_job_fields() returns text[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select array['id', 'kind', 'payload', 'queue', 'priority', 'run_at', 'max_attempts', 'retry', 'timeout_ms', 'key',
               'scope', 'trace_id', 'correlation_id', 'concurrency_key', 'concurrency_limit']
$$;
comment on function windlass._new_job_fields() is 'The fields that a job to be enqueued may have.';
