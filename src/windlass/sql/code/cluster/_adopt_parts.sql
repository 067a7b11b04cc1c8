-- Give a node the unfinished parts of its earlier life: same name, and no longer a member.
--
-- A part that was running then has crashed: queued again, or failed if its kind says so.  Where the node has a part of
-- the same job already, that of its earlier life is dropped: nobody would ever do it, and a quorum might wait for it.
-- Passes over jobs and parts that somebody holds.
-- definer: none
create function windlass._adopt_parts(p_node uuid, p_name text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_part record;
begin
  for v_part in
    select p.tenant_id, p.job_id, p.node_id, exists (
             select from windlass_data.cluster_part as own
             where own.tenant_id = p.tenant_id and own.job_id = p.job_id and own.node_id = p_node) as doubled
    from windlass_data.cluster_part as p
    left join windlass_data.node as n on n.id = p.node_id
    where p.node_name = p_name and p.state in ('queued', 'running') and p.node_id <> p_node
      and (n.stopped_at is null and n.member_until > v_now) is not true
    order by p.tenant_id, p.job_id
  loop
    perform from windlass_data.job as j
    where j.tenant_id = v_part.tenant_id and j.id = v_part.job_id
    for no key update skip locked;
    continue when not found;
    perform from windlass_data.cluster_part as p
    where p.tenant_id = v_part.tenant_id and p.job_id = v_part.job_id and p.node_id = v_part.node_id
    for no key update skip locked;
    continue when not found;
    if v_part.doubled then
      perform windlass._drop_part(v_part.tenant_id, v_part.job_id, v_part.node_id);
      continue;
    end if;
    perform windlass._end_part(
      v_part.tenant_id, v_part.job_id, v_part.node_id, 'crashed', null,
      jsonb_build_object('type', 'NodeRestarted', 'message', 'the node ended while it ran this part'), null);
    update windlass_data.cluster_part as p
    set node_id = p_node
    where p.tenant_id = v_part.tenant_id and p.job_id = v_part.job_id and p.node_id = v_part.node_id
      and p.state = 'queued'
      and not exists (
        select from windlass_data.cluster_part as own
        where own.tenant_id = p.tenant_id and own.job_id = p.job_id and own.node_id = p_node);
  end loop;
end
$$;
comment on function windlass._adopt_parts is 'Give a node the unfinished parts of its earlier life.';
