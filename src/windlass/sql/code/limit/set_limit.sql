-- Limit the jobs of this tenant, queue and kind, each null for all of them, for the whole cluster: how many run at a time,
-- how many start in a time, how many wait, what they may cost.  What is null stays as it was.  Returns the limit.
--
-- A rate is a bucket of p_burst tokens (default: p_rate), full at first, into which p_rate of them come in every
-- p_rate_seconds (default: 1).  A budget is for a p_budget_period (UTC, default: day) and counts what was spent in it.
-- Claims and enqueues that begin after this commits keep to it; what runs already, runs on.
-- definer: engine
-- grant: operator
create function windlass.set_limit(
  p_tenant uuid default null, p_queue text default null, p_kind text default null, p_concurrency integer default null,
  p_rate integer default null, p_rate_seconds double precision default null, p_burst integer default null,
  p_depth bigint default null, p_budget_cents bigint default null, p_warn_cents bigint default null,
  p_budget_period text default null, p_reason text default null, p_actor text default null)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_old windlass_data.job_limit;
  v_new windlass_data.job_limit;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  perform pg_advisory_xact_lock(20054, 0);  -- one change at a time
  select m.* into v_old from windlass_data.job_limit as m
  where (m.tenant_id, m.queue, m.kind) is not distinct from (p_tenant, p_queue, p_kind)
  for no key update;  -- a claim that holds limit_use may look whether the limit is there
  v_new := v_old;
  v_new.tenant_id := p_tenant;
  v_new.queue := p_queue;
  v_new.kind := p_kind;
  v_new.concurrency := coalesce(p_concurrency, v_old.concurrency);
  v_new.rate := coalesce(p_rate, v_old.rate);
  v_new.rate_seconds := coalesce(p_rate_seconds, v_old.rate_seconds, case when p_rate is not null then 1 end);
  v_new.burst := coalesce(p_burst, case when v_old.burst = v_old.rate then v_new.rate else v_old.burst end, p_rate);
  v_new.depth := coalesce(p_depth, v_old.depth);
  v_new.budget_cents := coalesce(p_budget_cents, v_old.budget_cents);
  v_new.warn_cents := coalesce(p_warn_cents, v_old.warn_cents);
  v_new.budget_period := coalesce(p_budget_period, v_old.budget_period,
                                  case when p_budget_cents is not null or p_warn_cents is not null then 'day' end);
  v_new.reason := coalesce(p_reason, '');
  v_new.actor := windlass._actor(p_actor);
  v_new.changed_at := v_now;
  perform windlass._check_limit(v_new);
  return windlass._write_limit(v_old, v_new, p_reason, p_actor);
end
$$;
comment on function windlass.set_limit is 'Limit how many jobs run, start, wait or what they cost; returns the limit.';
