-- End the running attempts of parts: succeeded, skipped, failed, timed_out, canceled, snoozed or released.  What follows a
-- failure is decided by the kind's policy; p_delays, in seconds, overrides its wait.  One row comes back per part.
--
-- A late word changes nothing and comes back as lease_lost.  The same success said again by the same token is no late word.
-- Locks the jobs first, in the order of their ids, as every word about a part does.
-- definer: engine
-- grant: worker
create function windlass.end_parts(
  p_tokens uuid[], p_jobs uuid[], p_outcomes text[] default null, p_results jsonb[] default null,
  p_errors jsonb[] default null, p_delays double precision[] default null)
returns table (job_id uuid, code text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  v_word record;
  v_part record;
begin
  perform windlass._require_unbound();
  perform windlass._check_words(p_tokens, p_jobs, p_results, null);
  perform windlass._check_words(p_tokens, p_jobs, p_errors, null);
  perform windlass._check_delays(p_delays);
  if not coalesce(p_outcomes, '{}') <@
       array['succeeded', 'skipped', 'failed', 'timed_out', 'canceled', 'snoozed', 'released'] then
    raise exception 'that is no outcome of a part' using errcode = 'WL007';
  end if;
  for v_word in
    select s.token, s.job_id, coalesce(s.outcome, 'succeeded') as outcome, s.result, s.error, s.delay
    from unnest(p_tokens, p_jobs, p_outcomes, p_results, p_errors, p_delays)
      as s(token, job_id, outcome, result, error, delay)
    order by s.job_id, s.token
  loop
    job_id := v_word.job_id;
    code := 'lease_lost';
    state := null;
    select p.tenant_id, p.job_id, p.node_id into v_part from windlass_data.cluster_part as p
    where p.token = v_word.token and p.job_id = v_word.job_id;
    if found then
      perform from windlass_data.job as j
      where j.tenant_id = v_part.tenant_id and j.id = v_part.job_id
      for no key update;
      select p.tenant_id, p.node_id, p.state, p.finished_at into v_part from windlass_data.cluster_part as p
      where p.token = v_word.token and p.job_id = v_word.job_id;
      if found and v_part.state = 'running' then
        code := 'ok';
        state := windlass._end_part(
          v_part.tenant_id, v_word.job_id, v_part.node_id, v_word.outcome, v_word.result, v_word.error, v_word.delay);
      elsif found and v_part.state = v_word.outcome and v_part.state in ('succeeded', 'skipped') then
        code := 'ok';
        state := v_part.state;
      end if;
    end if;
    return next;
  end loop;
end
$$;
comment on function windlass.end_parts is 'End the running attempts of parts.';
