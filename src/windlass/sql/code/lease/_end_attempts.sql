-- End running attempts in any way but success, and move their jobs on: the one place that decides between
-- again, later, dead and canceled.
--
-- A word counts only with the token of a lease that holds the job and while the attempt (job, version) is not yet written:
-- its primary key settles every race.  A refused word, or a second one, changes nothing and comes back as lease_lost.
-- Locks job, lease, attempt, then the line; the jobs before anything is judged, so that a cancel is seen or waits.
-- definer: none
create function windlass._end_attempts(
  p_tokens uuid[], p_jobs uuid[], p_outcomes windlass_data.outcome[], p_errors jsonb[], p_delays double precision[],
  p_costs bigint[], p_wait boolean default true)
returns table (job_id uuid, code text, state text, run_at timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_transaction xid8 := pg_current_xact_id();  -- before the clock: see seal_attempts
  v_now timestamptz; v_free record; v_told record;
begin
  select h.* into v_free from windlass._lock_held(p_tokens, p_jobs, p_wait) as h;
  v_now := windlass_data.clock();
  with said as materialized (
    select s.*
    from unnest(p_tokens, p_jobs, p_outcomes, p_errors, p_delays, p_costs, v_free.tids, v_free.max_attempts, v_free.retries)
      with ordinality as s(token, job_id, outcome, error, delay, cost, tid, max_attempts, retry, place)
  ), judged as materialized (
    select s.*, h.tenant_id, h.lane_id, h.node_id, h.claimed_at, h.version, c.counted,
           case when s.outcome = 'canceled' or r.job_id is not null then 'canceled'
                when s.outcome in ('failed', 'timed_out', 'crashed') and c.counted >= s.max_attempts then 'dead'
           end::windlass_data.job_state as ends,
           case when s.outcome in ('failed', 'timed_out')
                then coalesce(s.delay, windlass._retry_delay(s.retry, c.counted, random()))
                else coalesce(s.delay, 0) end as wait
    from (select distinct on (s.token, s.job_id) s.* from said as s where s.tid is not null order by 1, 2, s.place) as s
    join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id
    left join windlass_data.cancel_request as r on r.tenant_id = h.tenant_id and r.job_id = h.job_id
    cross join lateral (
      select h.counted + case when s.outcome in ('snoozed', 'released') then 0 else 1 end as counted) as c
  ), ended as (
    insert into windlass_data.attempt as a
      (tenant_id, job_id, version, counted, node_id, token, started_at, finished_at, outcome, ends, cost_cents, error)
    select g.tenant_id, g.job_id, g.version, g.counted, g.node_id, g.token, g.claimed_at, v_now, g.outcome, g.ends,
           g.cost, g.error from judged as g order by g.tenant_id, g.job_id
    on conflict do nothing returning a.tenant_id, a.job_id, a.version
  ), accepted as materialized (
    select g.*, case when g.ends is null and g.wait <= 0 then nextval('windlass_data.ready_seq') end as seq
    from (select g.* from judged as g  -- `is true`: looked up in a hash, and not row by row
          where ((g.tenant_id, g.job_id, g.version) in (select e.* from ended as e)) is true order by g.place) as g
  ), tally as materialized (  -- the leases are locked, so they stay where they are
    select t.n, l.place, l.open
    from (select x.token, count(*) as n from accepted as x group by x.token) as t
    cross join lateral (select l.ctid as place, l.open from windlass_data.lease as l where l.id = t.token offset 0) as l
  ), done as (
    delete from windlass_data.lease as l where l.ctid = any (array(select t.place from tally as t where t.open = t.n))
  ), fewer as (
    update windlass_data.lease as l set open = t.open - t.n from tally as t where l.ctid = t.place and t.open > t.n
  ), again as (
    insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
    select x.lane_id, x.seq, x.tenant_id, x.job_id, x.version, x.counted from accepted as x where x.seq is not null
  ), later as (
    insert into windlass_data.scheduled (tenant_id, job_id, run_at, lane_id, version, counted)
    select x.tenant_id, x.job_id, v_now + make_interval(secs => x.wait), x.lane_id, x.version, x.counted
    from accepted as x where x.ends is null and x.seq is null
  ), died as (
    insert into windlass_data.unsealed (tenant_id, event_id, digest)
    select d.* from accepted as x cross join lateral windlass._note_dead(
      x.tenant_id, x.job_id, x.version, x.node_id, x.outcome, x.error, x.cost, v_now) as d where x.ends = 'dead'
  ), settled as (
    delete from windlass_data.cancel_request as r using accepted as x
    where x.ends is not null and r.tenant_id = x.tenant_id and r.job_id = x.job_id
  )
  select array_agg(t.said) as jobs, array_agg(t.tid) as tids, array_agg(t.wait) as waits,
         array_agg(coalesce(t.ends::text, case when t.job_id is not null then 'queued' end)) as states,
         array_agg(t.seq) as seqs, (select array_agg(distinct x.lane_id) from accepted as x) as lanes
  into v_told
  from (select s.job_id as said, x.* from said as s left join accepted as x on x.place = s.place order by s.place) as t;
  if v_told.lanes is not null then
    perform windlass._place_jobs(array_agg(t.job_id), array_agg(t.tid), array_agg(t.seq))
    from unnest(v_told.jobs, v_told.tids, v_told.states, v_told.seqs) as t(job_id, tid, state, seq)
    where t.state = 'queued';
    perform windlass._note_work(v_told.lanes);
    perform windlass._wake(array_agg(distinct la.queue), cardinality(p_jobs), array_agg(distinct la.kind))
    from windlass_data.lane as la where la.id = any (v_told.lanes);
    perform windlass._tell_room(v_told.lanes, cardinality(p_jobs))
    where exists (select from windlass_data.job_limit as m where m.claims);
  end if;
  if array_position(v_told.states, null) is not null then  -- refused: what is open may have been counted too high
    perform windlass._settle_leases(p_tokens);
  end if;
  if exists (select from windlass_data.key_line) then
    perform windlass._leave_key_lines(array(
      select t.job_id from unnest(v_told.jobs, v_told.states) as t(job_id, state) where t.state is distinct from 'queued'));
  end if;
  return query
  select t.job_id, case when t.state is null then 'lease_lost' else 'ok' end, t.state,
         case when t.state = 'queued' then v_now + make_interval(secs => t.wait) end
  from unnest(v_told.jobs, v_told.states, v_told.waits) as t(job_id, state, wait);
end
$$;
comment on function windlass._end_attempts is 'End running attempts in any way but success.';
