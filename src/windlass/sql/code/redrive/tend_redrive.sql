-- What is next for a running redrive: its end (`outcome`), a wait in seconds, or a slice of jobs to be moved.
--
-- Looks at the revived jobs first, so that a redrive that waits for its throttle still stops when too many die again.  With
-- a patch the slice comes with the payloads as they would be: what the kind's handler makes of them is for the worker to
-- find out and for move_redrive to hear.
-- definer: engine
-- grant: worker
create function windlass.tend_redrive(p_token uuid, p_job uuid)
returns table (
  outcome text, stop_reason text, matched bigint, redriven bigint, refused bigint, passed bigint, ended bigint, died bigint,
  kind text, wait double precision, after uuid, upto uuid, jobs uuid[], payloads text[])
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := windlass_data.clock();
  v_row windlass_data.redrive := windlass._hold_redrive(p_token, p_job);
  v_before text := windlass._enter_tenant(v_row.tenant_id);
  v_size integer := least(500, greatest(1, ceil(coalesce(v_row.throttle, 500))));
  v_stop text;
  v_wait double precision := 0;
  v_upto uuid;
  v_jobs uuid[];
  v_payloads text[];
begin
  perform windlass._hold_days();
  if v_row.outcome is null then
    if v_row.stop_rate is not null then
      v_row := windlass._watch_redriven(v_row);
    end if;
    v_stop := windlass._stop_of(v_row);
    v_wait := greatest(0, coalesce(extract(epoch from v_row.next_at - v_now), 0));
    if v_stop is null and v_wait = 0 then
      select n.upto, n.jobs into v_upto, v_jobs from windlass._next_slice(v_row, v_size) as n;
    end if;
    if v_stop is not null or (v_wait = 0 and v_upto is null) then
      perform windlass._end_redrive(v_row.tenant_id, v_row.id, v_stop, null, 'windlass');
      v_wait := 0;
    elsif v_wait = 0 and v_row.patch is not null then
      select array_agg(j.id order by j.id), array_agg(windlass._merge_patch(j.payload, v_row.patch)::text order by j.id)
      into v_jobs, v_payloads
      from windlass_data.job as j
      where j.tenant_id = v_row.tenant_id and j.id = any (v_jobs);
    end if;
  end if;
  return query
  select r.outcome, r.stop_reason, r.matched, r.redriven, r.refused, r.passed, r.ended, r.died,
         case when r.patch is not null then r.kinds[1] end, v_wait, r.cursor, v_upto,
         coalesce(v_jobs, '{}'), coalesce(v_payloads, '{}')
  from windlass_data.redrive as r
  where r.tenant_id = v_row.tenant_id and r.id = v_row.id;
  perform set_config('windlass.tenant_id', v_before, true);
end
$$;
comment on function windlass.tend_redrive is 'What is next for a running redrive.';
