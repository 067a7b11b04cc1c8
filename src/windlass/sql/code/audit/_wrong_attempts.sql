-- The first thing that is wrong with the attempts of these lists, or with those that ended in their time; no row if nothing is.
--
-- What a list has and the table has not is taken for pruned if its job is gone too and the audit says that retention went so
-- far.  What ended while the clock had been set back may have come too late for its list.
-- definer: none
create function windlass._wrong_attempts(p_tenant uuid, p_lists uuid[], p_from timestamptz, p_to timestamptz)
returns table (fault text, message text, event_id uuid, place bigint, at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- a short time among many attempts, or a tenant with few of them
as $$
declare
  v_pruned timestamptz := windlass._pruned_to(p_tenant);
begin
  return query
  with listed as materialized (
    select e.id, e.at, p.page, (e.details ->> 'from')::timestamptz as ended_from,
           case when p.page is null and (e.details ->> 'to')::timestamptz > v_pruned then 'list_removed'
                when encode(sha256(p.page), 'hex') <> e.details ->> 'digest' then 'list_altered' end as fault
    from windlass_data.event as e
    left join windlass_data.attempt_page as p on p.tenant_id = p_tenant and p.number = (e.details ->> 'number')::bigint
    where e.tenant_id = p_tenant and e.id = any (p_lists)
  ), entry as materialized (
    select l.id, l.at, l.ended_from, e.job_id, e.version, e.digest
    from listed as l
    cross join lateral windlass._page_entries(l.page) as e
    where l.fault is null and l.page is not null
  ), wrong as (
    select l.fault, l.id, l.at, null::uuid as job_id, null::integer as version from listed as l where l.fault is not null
    union all
    select case when a.job_id is null then 'attempt_removed' else 'attempt_altered' end, e.id, e.at, e.job_id, e.version
    from entry as e
    left join lateral (
      select a as attempt, a.job_id from windlass_data.attempt as a
      where a.tenant_id = p_tenant and a.job_id = e.job_id and a.version = e.version
      offset 0
    ) as a on true
    where case when a.job_id is not null then windlass_data.attempt_digest(a.attempt) <> e.digest
               when e.ended_from >= v_pruned then true
               else exists (select from windlass_data.job as j where j.tenant_id = p_tenant and j.id = e.job_id) end
    union all
    select 'attempt_inserted', null, a.finished_at, a.job_id, a.version
    from windlass_data.attempt as a
    where a.tenant_id = p_tenant and a.finished_at > p_from and a.finished_at <= p_to
      and not exists (select from entry as e where e.job_id = a.job_id and e.version = a.version)
      and not exists (
        select from windlass_data.event as b
        where b.tenant_id = '00000000-0000-0000-0000-000000000000' and b.action = 'clock.back'
          and a.finished_at between (b.details ->> 'from')::timestamptz and (b.details ->> 'to')::timestamptz)
  )
  select w.fault, case w.fault
           when 'list_removed' then 'a list of attempts was removed'
           when 'list_altered' then 'a list of attempts was altered: it is not what was sealed'
           else format('attempt %s of job %s was %s', w.version, w.job_id, case w.fault
                  when 'attempt_removed' then 'removed' when 'attempt_altered' then 'altered: it is not what was sealed'
                  else 'inserted: it is not among those that were sealed' end) end,
         w.id, s.place, w.at
  from wrong as w
  left join windlass_data.seal as s on s.tenant_id = p_tenant and s.event_id = w.id
  order by w.job_id is not null, w.at, w.job_id, w.version
  limit 1;
end
$$;
comment on function windlass._wrong_attempts is 'The first thing that is wrong with the attempts of these lists.';
