-- Remove what has run out: gates past their expiry, cancel requests for jobs that are finished or gone, notices wanted
-- by nodes that were silent for a minute, nodes silent or stopped for p_keep_nodes, and the parts of cluster jobs, the
-- redrives and the costs whose record is gone.  Returns how many of each but the last three.
--
-- A cancel request for a job that waits for its next attempt is not spent: that attempt will be told.  Passes over
-- whatever somebody holds.  A node of which nobody ever heard counts as silent; it says again what it wants.
-- definer: engine
create function windlass._sweep(
  p_keep_nodes interval, out gates integer, out cancel_requests integer, out waiting integer, out nodes integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_bound uuid := windlass_data.bound_tenant();
begin
  perform windlass._hold_days();
  delete from windlass_data.gate as g
  where g.ctid = any (array(
    select g.ctid from windlass_data.gate as g
    where g.expires_at <= v_now and (v_bound is null or g.tenant_id = v_bound)
    for update skip locked));
  get diagnostics gates = row_count;
  delete from windlass_data.cancel_request as c
  where c.ctid = any (array(
    select c.ctid
    from windlass_data.cancel_request as c
    left join lateral windlass._describe_jobs(c.tenant_id, array[c.job_id]) as d on true
    where (d.id is null or d.state in ('succeeded', 'dead', 'canceled', 'skipped'))
      and (v_bound is null or c.tenant_id = v_bound)
    for update of c skip locked));
  get diagnostics cancel_requests = row_count;
  delete from windlass_data.waiting as w
  where w.ctid = any (array(
    select w.ctid
    from windlass_data.waiting as w
    where v_bound is null and not exists (
      select from windlass_data.node as n
      where n.id = w.node_id and n.stopped_at is null and n.heartbeat_at > v_now - interval '1 minute')
    for update skip locked));
  get diagnostics waiting = row_count;
  delete from windlass_data.node as n
  where n.ctid = any (array(
    select n.ctid from windlass_data.node as n
    where v_bound is null and coalesce(n.stopped_at, n.heartbeat_at) <= v_now - p_keep_nodes
    for update skip locked));
  get diagnostics nodes = row_count;
  perform windlass._forget_parts(1000);
  perform windlass._forget_redrives(1000);
  perform windlass._forget_costs(10000);
end
$$;
comment on function windlass._sweep(interval) is 'Remove gates, requests, notices and nodes that have run out.';
