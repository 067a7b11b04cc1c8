-- Count what a redrive would be for, a page at a time, and show the first few: nothing is changed.
--
-- A page is bounded work: 20,000 dead jobs are looked at.  p_after is the cursor of the page before; null, it was the last.
-- `sample` has up to p_sample jobs with their errors and payloads, with a patch also the payload that each would have.
-- Idempotency keys are not looked at: a job whose key another holds is counted here, and passed over when it comes to it.
-- definer: owner
-- grant: operator
create function windlass.preview_redrive(
  p_tenant uuid, p_kinds text[] default null, p_queues text[] default null, p_error_like text default null,
  p_died_from timestamptz default null, p_died_to timestamptz default null, p_jobs uuid[] default null,
  p_everything boolean default false, p_patch jsonb default null, p_sample integer default 10, p_after uuid default null)
returns table (matched bigint, cursor uuid, sample jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_before text := windlass._enter_tenant(p_tenant);
  v_row windlass_data.redrive;
  v_ids uuid[];
begin
  v_row.tenant_id := p_tenant;
  v_row.kinds := p_kinds;
  v_row.queues := p_queues;
  v_row.error_like := p_error_like;
  v_row.died_from := p_died_from;
  v_row.died_to := p_died_to;
  v_row.jobs := p_jobs;
  v_row.patch := p_patch;
  v_row.stop_after := 1;
  v_row.created_at := windlass_data.clock();
  perform windlass._check_redrive(v_row, p_everything);
  if p_sample is null or p_sample not between 0 and 100 then
    raise exception 'a sample has 0 to 100 jobs' using errcode = 'WL007';
  end if;
  perform windlass._hold_days();
  select count(*) filter (where d.matches), case when count(*) = 20000 then (array_agg(d.job_id order by d.job_id desc))[1] end,
         (array_agg(d.job_id order by d.job_id) filter (where d.matches))[1:p_sample]
  into matched, cursor, v_ids
  from windlass._dead_page(v_row, coalesce(p_after, '00000000-0000-0000-0000-000000000000'), 20000) as d;
  select coalesce(jsonb_agg(jsonb_build_object(
           'id', d.id, 'kind', d.kind, 'queue', d.queue, 'died_at', d.finished_at, 'attempts', d.version,
           'error', jsonb_build_object('type', d.error -> 'type', 'message', d.error -> 'message'),
           'payload', d.payload, 'patched', case when p_patch is not null then windlass._merge_patch(d.payload, p_patch) end)
         order by d.id), '[]')
  into sample
  from windlass._describe_jobs(p_tenant, v_ids) as d;
  return next;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.preview_redrive is 'Count what a redrive would be for, and show the first few.';
