-- End one attempt with success inside the caller's own transaction: its writes and the success commit together,
-- or neither does.  A lost lease is an error here (WL003), so that the caller's writes roll back.
--
-- Shares the lease instead of locking it: the other jobs of the same claim go on being renewed and completed
-- while the caller's transaction is open.  The lease is settled when the worker reports the job afterwards.
-- The attempt is written first: with the lease in hand we could wait for somebody who completes the same attempt, and
-- he for us, to drop the lease.  A lease that cannot be shared at once is being expired.
-- definer: engine
-- grant: worker
create function windlass.finish_job(p_token uuid, p_job uuid, p_result jsonb default null, p_cost bigint default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock: see seal_attempts
begin
  perform windlass._check_words(array[p_token], array[p_job], array[p_result], array[p_cost]);
  if p_cost is not null then  -- undone with all else if the attempt turns out to be written already
    perform windlass._note_words(array[p_token], array[p_job], array[p_cost], null);
  end if;
  insert into windlass_data.attempt
    (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends, cost_cents, result)
  select h.tenant_id, h.job_id, h.version, h.counted + 1, h.node_id, h.token, h.claimed_at, windlass_data.clock(),
         'succeeded', 'succeeded', p_cost, p_result
  from windlass._held_jobs(array[p_token]) as h
  where h.job_id = p_job
  on conflict do nothing;
  if found then
    perform from windlass_data.lease as l where l.id = p_token for key share skip locked;
  end if;
  if not found then
    raise exception 'the lease on job % is lost', p_job using errcode = 'WL003';
  end if;
end
$$;
comment on function windlass.finish_job is 'End one attempt with success in the caller''s own transaction.';
