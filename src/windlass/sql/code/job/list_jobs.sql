-- Jobs of a tenant, a page at a time: newest first, but waiting jobs alone as the claim sees them, then those put off.
--
-- The last row's cursor gets the next page.  A page is bounded work: where few of many jobs pass the filters, a short
-- page ends with a row without an id, whose cursor goes on; any other short page is the last.  A job that moves
-- between two pages of waiting jobs may be missed or met again; no other can.
-- definer: owner
-- grant: producer, worker, operator, reader
create function windlass.list_jobs(
  p_tenant uuid, p_states text[] default null, p_queues text[] default null, p_kinds text[] default null,
  p_correlation_id text default null, p_created_from timestamptz default null, p_created_to timestamptz default null,
  p_limit integer default 50, p_cursor text default null)
returns table (
  id uuid, tenant_id uuid, queue text, kind text, state text, priority integer, payload jsonb, result jsonb,
  error jsonb, run_at timestamptz, created_at timestamptz, started_at timestamptz, finished_at timestamptz,
  version integer, counted integer, max_attempts integer, timeout_ms integer, retry jsonb, idempotency_key text,
  trace_id text, correlation_id text, cost_cents bigint, node_id uuid, lease_expires_at timestamptz,
  cancel_requested boolean, ended_reason text, read_at timestamptz,
  concurrency_key text, concurrency_limit integer, cursor text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_sources text[] := windlass._job_sources(p_states, p_correlation_id);
  v_lanes integer[];
begin
  perform windlass._check_page(p_limit, p_cursor, case when v_sources = array['line'] then 'rs' else 'i' end);
  if v_sources = array['line'] or p_queues is not null or p_kinds is not null then
    v_lanes := array(
      select l.id from windlass_data.lane as l
      where l.tenant_id = p_tenant
        and (p_queues is null or l.queue = any (p_queues)) and (p_kinds is null or l.kind = any (p_kinds)));
  end if;
  perform windlass._hold_days();
  if v_lanes is null or cardinality(v_lanes) > 0 then
    return query
    with page as materialized (
      select c.* from windlass._page_of_jobs(
        p_tenant, p_states, v_sources, v_lanes, p_correlation_id, p_created_from, p_created_to, p_limit, p_cursor)
        with ordinality as c(id, cursor, place)
    )
    select d.*, c.cursor
    from page as c
    left join windlass._describe_jobs(p_tenant, array(select c.id from page as c)) as d on d.id = c.id
    order by c.place;
  end if;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.list_jobs is 'Jobs of a tenant, a page at a time.';
