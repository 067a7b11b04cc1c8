-- Take the unfinished part of a node's earlier life out of a job in which the node has a part of its own by now: the same
-- node is not counted twice, and nobody will ever do the other one.  The caller holds the job row.
-- definer: none
create function windlass._drop_part(p_tenant uuid, p_job uuid, p_node uuid) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
begin
  update windlass_data.cluster_part as p
  set state = 'canceled', finished_at = windlass_data.clock(), expires_at = null
  where p.tenant_id = p_tenant and p.job_id = p_job and p.node_id = p_node and p.state in ('queued', 'running')
  returning p.node_name into v_name;
  if not found then
    return;
  end if;
  update windlass_data.cluster_job as c
  set parts = c.parts - 1, needed = case c.needed when c.parts then c.parts - 1 else (c.parts - 1) / 2 + 1 end
  where c.tenant_id = p_tenant and c.job_id = p_job and c.settled_at is null;
  perform windlass._record(
    p_tenant, 'part.canceled', p_job, 'the node was started again and has a part of its own', p_node::text,
    jsonb_build_object('node', v_name, 'part', 'canceled'));
  perform windlass._settle_cluster_job(p_tenant, p_job);
end
$$;
comment on function windlass._drop_part is 'Take the part of a node''s earlier life out of a job.';
