-- Write down what running attempts cost, while they run.  One row comes back per cost: ok, or lease_lost for one that
-- changed nothing, because its token no longer holds its job.
--
-- A cost stays, however its attempt ends.  A caller that got no answer may say the same again with the same p_ids: what
-- was written is found, and not written twice, also when the attempt has ended meanwhile.
-- Shares the leases, as finish_job does, so that none can expire meanwhile; other words about them need not wait.  Waits for
-- none of them either, since a report drops its leases in no order: where one is just going, this is to be said again (55P03).
-- definer: engine
-- grant: worker
create function windlass.record_costs(
  p_tokens uuid[], p_jobs uuid[], p_cents bigint[], p_whats text[], p_ids uuid[] default null)
returns table (job_id uuid, code text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
declare
  v_open bigint[];
  v_bound uuid := windlass_data.bound_tenant();
begin
  perform windlass._check_costs(p_tokens, p_jobs, p_cents, p_whats, p_ids);
  perform from windlass_data.lease as l where l.id = any (p_tokens) for key share nowait;
  v_open := windlass._note_words(p_tokens, p_jobs, p_cents, p_whats, p_ids);
  return query
  select s.job_id, case
    when s.place = any (v_open) then 'ok'
    when exists (
      select from windlass_data.cost as c
      where c.job_id = s.job_id and c.id = s.id and c.cents = s.cents and c.what = s.what
        and (v_bound is null or c.tenant_id = v_bound)) then 'ok'
    else 'lease_lost' end
  from unnest(p_jobs, p_cents, p_whats, p_ids) with ordinality as s(job_id, cents, what, id, place)
  order by s.place;
end
$$;
comment on function windlass.record_costs is 'Write down what running attempts cost; returns which were refused.';
