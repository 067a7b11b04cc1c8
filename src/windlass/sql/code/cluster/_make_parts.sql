-- Write a part for each member that knows the kind and is not draining, and wake them on commit.  Returns how many there
-- are and how many are needed: more than half of them, or all.
-- definer: none
create function windlass._make_parts(
  p_tenant uuid, p_job uuid, p_kind text, p_local boolean, p_quorum text, out parts integer, out needed integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_nodes uuid[];
begin
  with made as (
    insert into windlass_data.cluster_part as p (tenant_id, job_id, node_id, node_name, kind, run_at)
    select p_tenant, p_job, n.id, n.name, p_kind, v_now
    from windlass_data.node as n
    where p_local and n.member_until > v_now and n.stopped_at is null and n.draining_at is null
      and p_kind = any (n.local_kinds)
    returning p.node_id
  )
  select coalesce(array_agg(m.node_id), '{}') into v_nodes from made as m;
  if p_local and v_nodes = '{}' then
    raise exception 'no member of the cluster takes new parts of the kind %', quote_literal(p_kind) using errcode = 'WL004';
  end if;
  parts := cardinality(v_nodes);
  needed := case when parts = 0 then 0 when p_quorum = 'all' then parts else parts / 2 + 1 end;
  perform pg_notify('windlass', n::text) from unnest(v_nodes) as n;
end
$$;
comment on function windlass._make_parts is 'Write a part for each member that knows the kind.';
