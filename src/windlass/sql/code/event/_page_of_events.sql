-- One page of the audit.  Bounded work, as _page_of_jobs: a last row without time carries the cursor to go on from.
-- definer: none
create function windlass._page_of_events(
  p_tenant uuid, p_job uuid, p_actor text, p_actions text[], p_from timestamptz, p_to timestamptz, p_limit integer,
  p_before uuid)
returns table (
  id uuid, at timestamptz, actor text, action text, job_id uuid, reason text, details jsonb, cursor text, login text,
  place bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ends text[] := array(
    select s from unnest(array['succeeded', 'canceled', 'skipped']) as s
    where p_actions is null or 'job.' || s = any (p_actions));
  v_events boolean := p_actions is null
    or not p_actions <@ array['job.succeeded', 'job.canceled', 'job.skipped'];
  v_slice integer := case when num_nonnulls(p_actor, p_from, p_to) > 0
                          then greatest(p_limit, 1000) else p_limit end;
  v_before uuid := p_before;
  v_fact record;
  v_size integer;
  v_seen integer := 0;
  v_found integer := 0;
begin
  loop
    v_size := 0;
    for v_fact in select n.* from windlass._next_events(
      p_tenant, p_job, v_events, p_actions, v_ends, v_before, v_slice) as n loop
      v_size := v_size + 1;
      v_before := v_fact.id;
      if (p_actor is null or v_fact.actor = p_actor) and (p_actions is null or v_fact.action = any (p_actions))
         and (p_from is null or v_fact.at >= p_from) and (p_to is null or v_fact.at < p_to) then
        return query select v_fact.id, v_fact.at, v_fact.actor, v_fact.action, v_fact.job_id, v_fact.reason,
                            v_fact.details, 'i.' || v_fact.id, v_fact.login, (
                              select s.place from windlass_data.seal as s
                              where s.tenant_id = p_tenant and s.event_id = v_fact.id);
        v_found := v_found + 1;
        exit when v_found = p_limit;
      end if;
    end loop;
    exit when v_found = p_limit or v_size < v_slice;
    v_seen := v_seen + v_size;
    if v_seen >= 20000 then
      cursor := 'i.' || v_before;
      return next;
      exit;
    end if;
  end loop;
end
$$;
comment on function windlass._page_of_events is 'One page of the audit.';
