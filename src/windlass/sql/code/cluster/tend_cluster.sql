-- A node's turn in the cluster: its lease as a member, the election, and, for the leader, whatever is due.  Returns who
-- leads, for how long, how many parts wait for this node, and whether any cluster job or part is unfinished: while
-- none is, nobody misses a turn but for the leases.  No row for a node that is not known or has stopped.
--
-- An idle turn only reads: a lease is written when a third of it has passed.  The leader's duties pass over whatever
-- somebody holds.  They would be right at any node; one is enough.  p_local_kinds: null means all of p_kinds.
-- definer: engine
-- grant: worker
create function windlass.tend_cluster(
  p_node uuid, p_address text default '', p_kinds text[] default '{}', p_lease_seconds double precision default 10,
  p_stand boolean default true, p_local_kinds text[] default null)
returns table (
  leader_id uuid, leader_name text, leader_address text, term bigint, leads boolean, draining boolean, parts bigint,
  leader_seconds double precision, busy boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '500ms'
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_kinds text[] := coalesce(p_kinds, '{}');
  v_local text[] := coalesce(p_local_kinds, v_kinds);
  v_lease interval;
  v_node windlass_data.node;
begin
  perform windlass._require_unbound();
  if p_node is null or p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400 then
    raise exception 'a turn needs a node, and a lease lasts from 0.1 seconds to a day' using errcode = 'WL007';
  end if;
  v_lease := make_interval(secs => p_lease_seconds);
  select n.* into v_node from windlass_data.node as n where n.id = p_node and n.stopped_at is null;
  if not found then
    return;
  end if;
  if (v_node.member_until > v_now + v_lease * 2 / 3) is not true
     or v_node.address <> coalesce(p_address, '') or v_node.cluster_kinds <> v_kinds or v_node.local_kinds <> v_local then
    update windlass_data.node as n
    set member_until = v_now + v_lease, address = coalesce(p_address, ''), cluster_kinds = v_kinds, local_kinds = v_local
    where n.id = p_node;
  end if;
  perform windlass._adopt_parts(p_node, v_node.name);
  if windlass._lead(p_node, p_stand and v_node.draining_at is null and v_kinds <> '{}', v_lease) then
    perform windlass._end_stale_actions(p_node);
    perform windlass._expire_parts(100);
    perform windlass._settle_due(100);
    perform windlass._close_cluster_jobs(100);
  end if;
  return query
  select l.id, l.name, nullif(l.address, ''), e.term, l.id = p_node is true, v_node.draining_at is not null, (
           select count(*) from windlass_data.cluster_part as p
           where p.node_id = p_node and p.state = 'queued' and p.run_at <= v_now and p.kind = any (v_local)),
         extract(epoch from e.expires_at - v_now)::double precision,
         exists (select from windlass_data.cluster_job as c where c.ended_at is null)
           or exists (select from windlass_data.cluster_part as p where p.state in ('queued', 'running'))
  from windlass_data.leader as e
  left join windlass_data.node as l on l.id = e.node_id and e.expires_at > v_now;
end
$$;
comment on function windlass.tend_cluster is 'A node''s turn in the cluster; returns who leads and how many parts wait.';
