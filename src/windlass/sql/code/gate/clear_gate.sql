-- Remove one gate: the one with this id, or the one with exactly this scope.  Returns its id; WL001 if there is none.
--
-- A role bound to a tenant finds the gates that name its tenant only.  Nodes that wait are woken on commit.
-- definer: engine
-- grant: operator
create function windlass.clear_gate(
  p_gate uuid default null, p_tenant uuid default null, p_queue text default null, p_kind text default null,
  p_node text default null, p_reason text default null, p_actor text default null)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_gate windlass_data.gate;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._confine(p_tenant);
  if p_gate is not null and num_nonnulls(p_tenant, p_queue, p_kind, p_node) > 0 then
    raise exception 'a gate is cleared by its id or by its scope, not by both' using errcode = 'WL007';
  end if;
  delete from windlass_data.gate as g
  where case when p_gate is not null then g.id = p_gate
             else (g.tenant_id, g.queue, g.kind, g.node) is not distinct from (p_tenant, p_queue, p_kind, p_node) end
    and (v_bound is null or g.tenant_id = v_bound)
  returning g.* into v_gate;
  if not found then
    raise exception 'there is no such gate' using errcode = 'WL001';
  end if;
  perform windlass._wake(array(
    select distinct w.queue from windlass_data.waiting as w where v_gate.queue is null or w.queue = v_gate.queue), 10000);
  perform windlass._record(
    coalesce(v_gate.tenant_id, '00000000-0000-0000-0000-000000000000'), 'gate.clear', null, p_reason, p_actor,
    jsonb_build_object('gate', v_gate.id, 'queue', v_gate.queue, 'kind', v_gate.kind, 'node', v_gate.node,
                       'held_since', v_gate.created_at));
  return v_gate.id;
end
$$;
comment on function windlass.clear_gate is 'Remove one gate, by its id or by its scope.';
