-- List the attempts that ended in a window of time, a page for each tenant, and write an event with the page's digest into the
-- tenant's audit.
-- definer: none
create function windlass._seal_window(
  p_from timestamptz, p_to timestamptz, p_number bigint, out attempts bigint, out pages bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  with page as materialized (
    select a.tenant_id, count(*) as attempts, string_agg(
             uuid_send(a.job_id) || int4send(a.version) || windlass_data.attempt_digest(a), ''
             order by a.job_id, a.version) as page
    from windlass_data.attempt as a
    where a.finished_at > p_from and a.finished_at <= p_to
    group by a.tenant_id
  ), kept as (
    insert into windlass_data.attempt_page (tenant_id, number, ended_to, page)
    select p.tenant_id, p_number, p_to, p.page from page as p
  ), said as (
    insert into windlass_data.event as e (tenant_id, at, actor, action, details)
    select p.tenant_id, windlass_data.clock(), 'windlass', 'attempts.seal', jsonb_build_object(
             'number', p_number, 'from', p_from, 'to', p_to, 'attempts', p.attempts, 'digest', encode(sha256(p.page), 'hex'))
    from page as p
    order by p.tenant_id
    returning e as event
  ), noted as (
    insert into windlass_data.unsealed (tenant_id, event_id, digest)
    select (s.event).tenant_id, (s.event).id, windlass_data.event_digest(s.event) from said as s
  )
  select coalesce(sum(p.attempts), 0), count(*) into attempts, pages from page as p;
end
$$;
comment on function windlass._seal_window is 'List the attempts of a window of time, and chain the digest of the list.';
