-- The jobs of a day that must outlive it: those not finished, and those whose keep has not passed.  Stops at p_limit;
-- a job may come twice.
--
-- p_before says for each state up to which finish a job may go; a state not in it is kept for ever.  The jobs that
-- make up the bulk (succeeded, in time) are never read: the few others have an index, and the late ones lie at the
-- end of the table, where the block ranges of finished_at find them.
-- definer: engine
create function windlass._kept_jobs(p_day date, p_before jsonb, p_limit integer)
returns table (tenant_id uuid, job_id uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return query execute format($query$
    select a.tenant_id, a.job_id
    from windlass_data.%1$I as a
    where a.ends in ('dead', 'canceled', 'skipped')
      and (a.finished_at <= ($1 ->> a.ends::text)::timestamptz) is not true
    union all
    select j.tenant_id, j.id
    from windlass_data.%2$I as j
    where j.ended_state is not null and (j.ended_at <= ($1 ->> j.ended_state::text)::timestamptz) is not true
    union all
    select a.tenant_id, a.job_id
    from windlass_data.%1$I as a
    where a.ends = 'succeeded' and a.finished_at > %3$L::timestamptz
    union all
    select l.tenant_id, l.job_id from windlass._live_jobs($2, $3) as l
    limit $4
  $query$, to_char(p_day, '"attempt_"YYYYMMDD'), to_char(p_day, '"job_"YYYYMMDD'), p_before ->> 'succeeded')
  using p_before, windlass_data.first_id(windlass._first_day(p_day)::timestamp at time zone 'UTC'),
        windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC'), p_limit;
end
$$;
comment on function windlass._kept_jobs(date, jsonb, integer) is 'The jobs of a day that must outlive it.';
