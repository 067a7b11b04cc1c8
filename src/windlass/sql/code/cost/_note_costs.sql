-- Write down costs: the one way into the ledger and its sums.  The caller has checked that each may be reported.
--
-- With a purpose a cost gets an entry; without (null) it came with the outcome, and the attempt is its record.  A cost
-- whose entry is there already is passed over.  Inserts only: nobody waits here but for the very same entry.
-- definer: none
create function windlass._note_costs(
  p_tenants uuid[], p_lanes integer[], p_jobs uuid[], p_versions integer[], p_cents bigint[], p_whats text[],
  p_ids uuid[] default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_new record;
begin
  with said as materialized (
    select distinct on (s.tenant_id, s.job_id, s.version, s.id) s.*
    from (
      select s.tenant_id, s.lane_id, s.job_id, s.version, s.cents, s.what, s.place,
             coalesce(s.id, windlass_data.new_id()) as id
      from unnest(p_tenants, p_lanes, p_jobs, p_versions, p_cents, p_whats, p_ids) with ordinality
        as s(tenant_id, lane_id, job_id, version, cents, what, id, place)
    ) as s
    order by s.tenant_id, s.job_id, s.version, s.id, s.place
  ), entered as (
    insert into windlass_data.cost as c (tenant_id, job_id, version, id, at, cents, what)
    select s.tenant_id, s.job_id, s.version, s.id, v_now, s.cents, s.what
    from said as s
    where s.what is not null
    order by s.tenant_id, s.job_id, s.version, s.id
    on conflict do nothing
    returning c.tenant_id, c.job_id, c.version, c.id
  )
  select array_agg(s.lane_id) as lanes, array_agg(s.cents) as cents into v_new
  from said as s
  left join entered as e using (tenant_id, job_id, version, id)
  where s.what is null or e.id is not null;
  insert into windlass_data.cost_delta (tenant_id, day, queue, kind, cents, entries)
  select l.tenant_id, (v_now at time zone 'UTC')::date, l.queue, l.kind, sum(n.cents), count(*)
  from unnest(v_new.lanes, v_new.cents) as n(lane_id, cents)
  cross join lateral (
    select l.tenant_id, l.queue, l.kind from windlass_data.lane as l where l.id = n.lane_id offset 0
  ) as l
  group by l.tenant_id, l.queue, l.kind;
  perform windlass._note_spending(v_new.lanes, v_new.cents);
end
$$;
comment on function windlass._note_costs is 'Write down costs, in the ledger and for its sums.';
