-- End what is left of these leases, which the caller holds locked: their worker is gone, or has no say any more.  Their
-- attempts have crashed, for the reason p_error; jobs that somebody holds are passed over.  Returns the jobs moved.
--
-- No job is given up for a last attempt that was none: where the worker says what it begins (see begin_jobs), and did not
-- say it, the job is given back and the attempt does not count.  So it is where it was about to begin and no more is known,
-- but only once: who leaves that in doubt again and again kills its worker as it begins.
-- definer: none
create function windlass._end_abandoned(p_leases uuid[], p_error jsonb)
returns table (job_id uuid, state text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens uuid[];
  v_jobs uuid[];
  v_told boolean;
  v_excuses jsonb[];  -- why an attempt does not count, where it does not
  v_range record;
begin
  select array_agg(m.token order by m.job_id, m.token), array_agg(m.job_id order by m.job_id, m.token), bool_or(m.told)
  into v_tokens, v_jobs, v_told
  from (
    select l.id as token, unnest(l.job_ids) as job_id, l.begins is not null as told
    from windlass_data.lease as l
    where l.id = any (p_leases)
  ) as m;
  if v_told then
    select r.* into v_range from windlass._id_range(v_jobs) as r;
    select array_agg(u.excuse order by m.job_id, l.id) into v_excuses
    from windlass_data.lease as l
    cross join lateral unnest(l.job_ids, l.versions, l.counted) as m(job_id, version, counted)
    cross join lateral (
      select case when m.job_id = any (l.begun) or l.begins is null then null
                  when m.counted + 1 < (
                    select j.max_attempts from windlass_data.job as j
                    where j.tenant_id = l.tenant_id and j.id = m.job_id
                      and j.id between v_range.first and v_range.last) then null
                  when m.job_id <> all (l.begins) then jsonb_build_object(
                    'begun', false, 'message', concat('the handler was not called: ', p_error ->> 'message'))
                  when not windlass._was_in_doubt(l.tenant_id, m.job_id, m.version, v_range.first, v_range.last)
                  then jsonb_build_object(
                    'begun', null, 'message',
                    concat('it is not known whether the handler was called: ', p_error ->> 'message'))
             end as excuse
    ) as u
    where l.id = any (p_leases);
  else
    v_excuses := array_fill(null::jsonb, array[cardinality(v_jobs)]);
  end if;
  return query
  select e.job_id, e.state
  from windlass._end_attempts(
    v_tokens, v_jobs,
    array(select case when x is null then 'crashed' else 'released' end::windlass_data.outcome
          from unnest(v_excuses) with ordinality as u(x, place) order by place),
    array(select p_error || coalesce(x, '{}') from unnest(v_excuses) with ordinality as u(x, place) order by place),
    null, null, p_wait => false) as e
  where e.code = 'ok';
end
$$;
comment on function windlass._end_abandoned(uuid[], jsonb) is 'End what is left of leases whose worker is gone.';
