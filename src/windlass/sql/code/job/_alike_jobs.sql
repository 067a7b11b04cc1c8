-- The jobs of one enqueue_many, each by itself.
-- definer: none
create function windlass._alike_jobs(p_job windlass_data.new_job, p_payloads jsonb, p_ids uuid[])
returns windlass_data.new_job[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(i.id, p_job.kind, i.payload, p_job.queue, p_job.priority, p_job.run_at, p_job.max_attempts, p_job.retry,
               p_job.timeout_ms, null, p_job.scope, p_job.trace_id, p_job.correlation_id, p_job.concurrency_key,
               p_job.concurrency_limit)::windlass_data.new_job
    from rows from (unnest(p_ids), jsonb_array_elements(p_payloads)) with ordinality as i(id, payload, place)
    order by i.place);
end
$$;
comment on function windlass._alike_jobs is 'The jobs of one enqueue_many, each by itself.';
