-- End these attempts with success.  Returns only the words that were refused, as lease_lost.
--
-- A worker that lost its lease may still be alive and may still report: the attempt (job, version) is then written
-- already, and its late word changes nothing.  A caller that got no answer may say the same again, with the jobs'
-- tenants: a success that this very token wrote is not refused.  p_states: succeeded (default) or skipped.
--
-- Hardly ever is one written already, so the insert does not provide for it, which would cost half as much again: where the
-- key refuses one, the words that can still count are picked out and said again, for as long as they become fewer.
-- definer: engine
-- grant: worker
create function windlass.complete_jobs(
  p_tokens uuid[], p_jobs uuid[], p_results jsonb[] default null, p_costs bigint[] default null,
  p_states text[] default null, p_tenants uuid[] default null)
returns table (job_id uuid, code text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock: see seal_attempts
  v_now timestamptz := windlass_data.clock();
  v_open bigint[]; v_before bigint[];  -- the words that are said; null: all
  v_refused bigint[]; v_lanes integer[];  -- in which there may be room again
begin
  perform windlass._check_words(p_tokens, p_jobs, p_results, p_costs);
  if not coalesce(p_states, '{}') <@ array['succeeded', 'skipped'] then
    raise exception 'a completed job is succeeded or skipped' using errcode = 'WL007';
  elsif cardinality(p_states) <> cardinality(p_jobs) or cardinality(p_tenants) <> cardinality(p_jobs) then
    raise exception 'every job needs its own state and tenant, or none has one' using errcode = 'WL007';
  end if;
  perform windlass._lock_leases(p_tokens);
  if exists (select from windlass_data.job_limit as m where m.claims) then
    v_lanes := array(select l.lane_id from windlass_data.lease as l where l.id = any (p_tokens));
  end if;
  loop
    begin
      if p_costs is not null then  -- undone with the rest where the key refuses an attempt
        perform windlass._note_words(p_tokens, p_jobs, p_costs, null, null, v_open);
      end if;
      with said as materialized (
        select s.token, s.job_id, s.result, s.cost, coalesce(s.state, 'succeeded') as state, s.place
        from unnest(p_tokens, p_jobs, p_results, p_costs, p_states) with ordinality
          as s(token, job_id, result, cost, state, place)
      ), ended as (
        insert into windlass_data.attempt as a
          (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends, cost_cents, result)
        select h.tenant_id, h.job_id, h.version, h.counted + 1, h.node_id, h.token, h.claimed_at, v_now,
               s.state::windlass_data.outcome, s.state::windlass_data.job_state, s.cost, s.result
        from said as s
        join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id
        where v_open is null or s.place = any (v_open)
        order by h.tenant_id, h.job_id
        returning a.tenant_id, a.job_id, a.token
      ), tally as materialized (  -- the leases are locked, so they stay where they are
        select t.n, l.place, l.open
        from (select e.token, count(*) as n from ended as e group by e.token) as t
        cross join lateral (select l.ctid as place, l.open from windlass_data.lease as l where l.id = t.token offset 0) as l
      ), done as (
        delete from windlass_data.lease as l where l.ctid = any (array(select t.place from tally as t where t.open = t.n))
      ), fewer as (
        update windlass_data.lease as l set open = t.open - t.n from tally as t where l.ctid = t.place and t.open > t.n
      ), settled as (
        delete from windlass_data.cancel_request as r using ended as e
        where r.tenant_id = e.tenant_id and r.job_id = e.job_id
      )
      select case when count(*) < cardinality(p_jobs) then array(
        select s.place from said as s
        where not exists (select from ended as e where e.token = s.token and e.job_id = s.job_id)) end
      into v_refused from ended;
      exit;
    exception when unique_violation then
      v_before := v_open;
      v_open := windlass._open_words(p_tokens, p_jobs);
      if v_open = v_before then raise; end if;  -- a snapshot that is older than the word which came first
    end;
  end loop;
  if v_lanes is not null then
    perform windlass._tell_room(v_lanes, cardinality(p_jobs));
  end if;
  if exists (select from windlass_data.key_line) then
    perform windlass._leave_key_lines(p_jobs);
  end if;
  if v_refused is not null then
    perform windlass._settle_leases(p_tokens);
    return query
    select s.job_id, 'lease_lost'
    from unnest(p_tokens, p_jobs, p_tenants) with ordinality as s(token, job_id, tenant_id, place)
    where s.place = any (v_refused)
      and not exists (
        select from windlass_data.attempt as a
        where a.tenant_id = s.tenant_id and a.job_id = s.job_id and a.token = s.token
          and a.tenant_id = coalesce(windlass_data.bound_tenant(), a.tenant_id)
          and a.outcome in ('succeeded', 'skipped'));
  end if;
end
$$;
comment on function windlass.complete_jobs is 'End attempts with success; returns the words that were refused.';
