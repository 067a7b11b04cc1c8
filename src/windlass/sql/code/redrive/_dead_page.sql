-- The next dead jobs of the entered tenant behind an id, up to p_scan of them, and whether each is what this redrive is for.
--
-- What died after the redrive was created is not: it would follow its own jobs around.  Jobs that Windlass itself runs are,
-- only by name.  LIKE needs no more than the product of two lengths, and both are bounded.  The engine runs it, and compares
-- states in this way, for the reasons given at _ended_jobs.
-- definer: engine
create function windlass._dead_page(p_redrive windlass_data.redrive, p_after uuid, p_scan integer)
returns table (job_id uuid, version integer, matches boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_tenant uuid := windlass_data.current_tenant();
begin
  return query
  with dead as materialized (
    (select a.job_id, a.version, a.finished_at, a.error
     from windlass_data.attempt as a
     where p_redrive.jobs is null and a.tenant_id = v_tenant and a.ends in ('dead', 'canceled', 'skipped')
       and a.ends <= 'dead' and (a.ends, a.job_id) > ('dead', p_after)
     order by a.ends, a.job_id
     limit p_scan)
    union all
    (select n.id, a.version, a.finished_at, a.error
     from (select distinct n.id from unnest(p_redrive.jobs) as n(id) where n.id > p_after order by n.id limit p_scan) as n
     left join lateral (
       select a.version, a.finished_at, a.error from windlass_data.attempt as a
       where a.tenant_id = v_tenant and a.job_id = n.id and a.ends = 'dead'
       offset 0
     ) as a on true)
  )
  select d.job_id, d.version, coalesce(
           d.version is not null
           and (p_redrive.jobs is not null or l.queue <> 'windlass.system')
           and (p_redrive.kinds is null or l.kind = any (p_redrive.kinds))
           and (p_redrive.queues is null or l.queue = any (p_redrive.queues))
           and (p_redrive.died_from is null or d.finished_at >= p_redrive.died_from)
           and (p_redrive.died_to is null or d.finished_at < p_redrive.died_to)
           and d.finished_at <= p_redrive.created_at
           and (p_redrive.error_like is null or e.type ilike p_redrive.error_like
                or e.message ilike p_redrive.error_like or e.type || ': ' || e.message ilike p_redrive.error_like), false)
  from dead as d
  left join lateral (
    select l.kind, l.queue
    from windlass_data.job as j
    join windlass_data.lane as l on l.id = j.lane_id
    where j.tenant_id = v_tenant and j.id = d.job_id
    offset 0  -- a look-up per job, never a scan of all jobs
  ) as l on true
  cross join lateral (
    select left(d.error ->> 'type', 200) as type, left(d.error ->> 'message', 4000) as message
  ) as e;
end
$$;
comment on function windlass._dead_page is 'The next dead jobs behind an id, and which of them a redrive is for.';
