-- Write down that an attempt was a job's last one: the death stays in the audit when the job is redriven or removed.
--
-- What comes back belongs into `unsealed`, by the caller's own statement: deaths come in bulk and are sealed later.
-- definer: none
create function windlass._note_dead(
  p_tenant uuid, p_job uuid, p_attempt integer, p_node uuid, p_outcome windlass_data.outcome, p_error jsonb, p_cost bigint,
  p_at timestamptz)
returns table (tenant_id uuid, event_id uuid, digest bytea)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event windlass_data.event;
begin
  insert into windlass_data.event as e (tenant_id, at, actor, action, job_id, reason, details)
  values (p_tenant, p_at, case p_outcome when 'crashed' then 'windlass' else p_node::text end, 'job.dead', p_job,
          left(p_error ->> 'message', 2000), jsonb_strip_nulls(jsonb_build_object(
            'attempt', p_attempt, 'outcome', p_outcome, 'error', left(p_error ->> 'type', 200),
            'cost_cents', windlass._cost_of(p_tenant, p_job, p_attempt, p_cost))))
  returning e.* into v_event;
  return query select p_tenant, v_event.id, windlass_data.event_digest(v_event);
end
$$;
comment on function windlass._note_dead is 'Write down that a job died.';
