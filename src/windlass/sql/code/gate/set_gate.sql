-- Hold every claim that matches: of this tenant, queue, kind and node (its id or name), each null for all of them; to hold all
-- there is needs p_everything, since a null may be a mistake.  Setting the same scope again changes reason, actor and expiry.
-- Returns the gate.
--
-- Claims that begin after this commits take no matching job.  Workers give back what they claimed and have not started; what
-- runs already, runs on, or with p_release is given back too.
-- definer: engine
-- grant: operator
create function windlass.set_gate(
  p_tenant uuid default null, p_queue text default null, p_kind text default null, p_node text default null,
  p_reason text default null, p_actor text default null, p_expires_at timestamptz default null,
  p_release boolean default false, p_everything boolean default false)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_id uuid;
begin
  perform windlass._check_said(p_reason, p_actor);
  if p_tenant is null then
    perform windlass._require_unbound();
  end if;
  perform windlass._confine(p_tenant);
  perform windlass._check_gate(p_tenant, p_queue, p_kind, p_node, p_expires_at, coalesce(p_everything, false));
  insert into windlass_data.gate as g (tenant_id, queue, kind, node, reason, actor, created_at, expires_at, releases)
  values (p_tenant, p_queue, p_kind, p_node, coalesce(p_reason, ''), windlass._actor(p_actor), v_now, p_expires_at,
          coalesce(p_release, false))
  on conflict (tenant_id, queue, kind, node) do update
  set reason = excluded.reason, actor = excluded.actor, expires_at = excluded.expires_at, releases = excluded.releases,
      created_at = case when g.expires_at <= v_now then v_now else g.created_at end
  returning g.id into v_id;
  perform windlass._record(
    coalesce(p_tenant, '00000000-0000-0000-0000-000000000000'), 'gate.set', null, p_reason, p_actor,
    jsonb_build_object('gate', v_id, 'queue', p_queue, 'kind', p_kind, 'node', p_node, 'expires_at', p_expires_at,
                       'release', p_release));
  perform pg_notify('windlass', 'gate');
  return v_id;
end
$$;
comment on function windlass.set_gate is 'Hold the claims that match; returns the gate.';
