-- Take back what was said by set_limit in exactly this scope: all of it, or of p_what (concurrency, rate, depth, budget)
-- only that.  WL001 if nothing of it was said.  Returns the limit.
-- definer: engine
-- grant: operator
create function windlass.clear_limit(
  p_tenant uuid default null, p_queue text default null, p_kind text default null, p_what text[] default null,
  p_reason text default null, p_actor text default null)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_old windlass_data.job_limit;
  v_new windlass_data.job_limit;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  if not p_what <@ array['concurrency', 'rate', 'depth', 'budget'] or cardinality(p_what) = 0 then
    raise exception 'what is cleared is concurrency, rate, depth or budget' using errcode = 'WL007';
  end if;
  perform pg_advisory_xact_lock(20054, 0);
  select m.* into v_old from windlass_data.job_limit as m
  where (m.tenant_id, m.queue, m.kind) is not distinct from (p_tenant, p_queue, p_kind)
  for no key update;
  v_new := v_old;
  v_new.changed_at := windlass_data.clock();
  if p_what is null or 'concurrency' = any (p_what) then
    v_new.concurrency := null;
  end if;
  if p_what is null or 'rate' = any (p_what) then
    v_new.rate := null; v_new.rate_seconds := null; v_new.burst := null;
  end if;
  if p_what is null or 'depth' = any (p_what) then
    v_new.depth := null;
  end if;
  if p_what is null or 'budget' = any (p_what) then
    v_new.budget_cents := null; v_new.warn_cents := null; v_new.budget_period := null;
  end if;
  if v_old.id is null or windlass._limit_facts(v_new) = windlass._limit_facts(v_old) then
    raise exception 'there is no such limit' using errcode = 'WL001';
  end if;
  if num_nonnulls(v_new.concurrency, v_new.rate, v_new.depth, v_new.budget_period) > 0 then
    return windlass._write_limit(v_old, v_new, p_reason, p_actor);
  end if;
  perform from windlass_data.limit_use as u where u.limit_id = v_old.id for update;  -- in the order of a claim
  delete from windlass_data.spending as s where s.limit_id = v_old.id;
  delete from windlass_data.job_limit as m where m.id = v_old.id;
  perform windlass._record(
    coalesce(v_old.tenant_id, '00000000-0000-0000-0000-000000000000'), 'limit.clear', null, p_reason, p_actor,
    jsonb_build_object('limit', v_old.id, 'before', windlass._limit_facts(v_old)));
  perform windlass._wake(array(select distinct w.queue from windlass_data.waiting as w), 10000);
  return v_old.id;
end
$$;
comment on function windlass.clear_limit is 'Take back a limit, or a part of it.';
