-- Recover up to p_limit parts whose lease ran out: queued again for their own node, or failed.
--
-- A dead node's part waits for the node to come back, until its job ends.  Passes over jobs that somebody holds.
-- definer: none
create function windlass._expire_parts(p_limit integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_part record;
begin
  for v_part in
    select p.tenant_id, p.job_id, p.node_id, p.token from windlass_data.cluster_part as p
    where p.state = 'running' and p.expires_at <= v_now
    order by p.expires_at
    limit p_limit
  loop
    perform from windlass_data.job as j
    where j.tenant_id = v_part.tenant_id and j.id = v_part.job_id
    for no key update skip locked;
    continue when not found;
    perform from windlass_data.cluster_part as p
    where p.tenant_id = v_part.tenant_id and p.job_id = v_part.job_id and p.node_id = v_part.node_id
      and p.state = 'running' and p.token = v_part.token and p.expires_at <= v_now
    for no key update skip locked;
    continue when not found;
    perform windlass._end_part(
      v_part.tenant_id, v_part.job_id, v_part.node_id, 'crashed', null, jsonb_build_object(
        'type', 'LeaseExpired', 'message', 'the lease ran out: the node died, hung or lost the database'), null);
  end loop;
end
$$;
comment on function windlass._expire_parts(integer) is 'Recover parts whose lease ran out.';
