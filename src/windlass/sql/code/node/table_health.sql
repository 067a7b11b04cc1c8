-- How the tables stand: what waits too long, what vacuum has left, whether days are made ahead and row-level security
-- is forced.  Counts end at 10,000.
--
-- A role bound to a tenant gets its own tenant's counts, and nothing of what the tables hold for all.
-- definer: engine
-- grant: operator, reader
create function windlass.table_health() returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_only uuid := windlass._confine(null);
  v_loose text[] := array(
    select c.relname from pg_class as c
    where c.relnamespace = 'windlass_data'::regnamespace and c.relkind in ('r', 'p')
      and not (c.relrowsecurity and c.relforcerowsecurity)
      and (c.relname = 'tenant' or exists (
        select from pg_attribute as a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
    order by 1);
  v_days date[] := array(
    select to_date(right(c.relname, 8), 'YYYYMMDD')
    from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
    where i.inhparent = 'windlass_data.job'::regclass and c.relname ~ '^job_[0-9]{8}$'
    order by 1);
begin
  return jsonb_build_object(
    'now', v_now,
    'rls_forced', cardinality(v_loose) = 0,
    'unforced_tables', v_loose,
    'days', cardinality(v_days),
    'days_ahead', v_days[cardinality(v_days)] - (v_now at time zone 'UTC')::date,
    'expired_leases', (
      select count(*) from (
        select from windlass_data.lease as l
        where l.expires_at < v_now and (v_only is null or l.tenant_id = v_only) limit 10000) as l),
    'overdue_scheduled', (
      select count(*) from (
        select from windlass_data.scheduled as s
        where s.run_at <= v_now and (v_only is null or s.tenant_id = v_only) limit 10000) as s),
    'lanes', (select count(*) from windlass_data.lane as l where v_only is null or l.tenant_id = v_only),
    'dead_rows', case when v_only is null then (
      select jsonb_object_agg(t.name, pg_stat_get_dead_tuples(('windlass_data.' || t.name)::regclass))
      from unnest(array['ready', 'scheduled', 'lease']) as t(name)) end);
end
$$;
comment on function windlass.table_health() is 'How the tables stand.';
