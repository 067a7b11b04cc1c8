-- Put dead jobs back into line, with all their attempts before them, and wake those who wait.  The caller holds their
-- last attempts and their job rows.
--
-- Their last attempt no longer ends them; that they had died is an event of its own.  A patch (RFC 7396) changes their
-- payloads, which nothing else ever does: the event keeps it, and the digests of what each payload was and is.
-- definer: none
create function windlass._revive_jobs(
  p_tenant uuid, p_jobs uuid[], p_max_attempts integer, p_reason text, p_actor text, p_patch jsonb default null,
  p_redrive uuid default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_now timestamptz := windlass_data.clock();
  v_lanes integer[];
  v_revived uuid[];
  v_day record;
begin
  for v_day in select r.first, r.last from windlass._day_ranges(p_jobs) as r loop
    with revived as (
      update windlass_data.attempt as a
      set ends = null
      where a.tenant_id = p_tenant and a.job_id = any (p_jobs) and a.job_id between v_day.first and v_day.last
        and a.ends = 'dead'
      returning a.job_id, a.version, a.finished_at, a.counted, a.error
    ), placed as materialized (
      select r.*, nextval('windlass_data.ready_seq') as seq
      from (select r.* from revived as r order by r.job_id) as r
    ), patched as materialized (
      select j.id, j.payload as before, windlass._merge_patch(j.payload, p_patch) as after
      from windlass_data.job as j
      where p_patch is not null and j.tenant_id = p_tenant and j.id = any (p_jobs)
        and j.id between v_day.first and v_day.last
    ), moved as (
      update windlass_data.job as j
      set seq = p.seq, max_attempts = coalesce(p_max_attempts, j.max_attempts), payload = coalesce(c.after, j.payload)
      from placed as p
      left join patched as c on c.id = p.job_id
      where j.tenant_id = p_tenant and j.id = p.job_id and j.id between v_day.first and v_day.last
      returning j.id, j.lane_id
    ), forgotten as (  -- asked for by somebody who had not seen that the job was dead
      delete from windlass_data.cancel_request as c
      where c.tenant_id = p_tenant and c.job_id in (select p.job_id from placed as p)
    ), lined_up as (
      insert into windlass_data.ready (lane_id, seq, tenant_id, job_id, version, counted)
      select m.lane_id, p.seq, p_tenant, p.job_id, p.version, 0
      from placed as p
      join moved as m on m.id = p.job_id
    ), recorded as (
      insert into windlass_data.event as e (tenant_id, at, actor, action, job_id, reason, details)
      select p_tenant, v_now, windlass._actor(p_actor), 'job.redrive', p.job_id, p_reason, jsonb_build_object(
               'died_at', p.finished_at, 'version', p.version, 'counted', p.counted, 'error', p.error -> 'type')
               || case when p_redrive is null then '{}' else jsonb_build_object('redrive', p_redrive) end
               || case when c.id is null then '{}' else jsonb_build_object(
                    'patch', p_patch, 'payload_before', encode(sha256(convert_to(c.before::text, 'UTF8')), 'hex'),
                    'payload_after', encode(sha256(convert_to(c.after::text, 'UTF8')), 'hex')) end
      from placed as p
      left join patched as c on c.id = p.job_id
      order by p.job_id
      returning e as event
    ), noted as (
      -- One row is enough for the whole call to be sealed as it commits.
      insert into windlass_data.unsealed (tenant_id, event_id, digest, at_commit)
      select p_tenant, (r.event).id, windlass_data.event_digest(r.event), v_revived is null and row_number() over () = 1
      from recorded as r
    )
    select v_lanes || array_agg(distinct m.lane_id), v_revived || array_agg(m.id order by m.id) into v_lanes, v_revived
    from moved as m;
  end loop;
  perform windlass._join_key_lines(p_tenant, v_revived);  -- somebody else may have revived the others meanwhile
  perform windlass._note_work(v_lanes);
  perform windlass._wake(
    array(select distinct l.queue from windlass_data.lane as l where l.id = any (v_lanes)), cardinality(p_jobs),
    array(select distinct l.kind from windlass_data.lane as l where l.id = any (v_lanes)), p_tenant);
end
$$;
comment on function windlass._revive_jobs is 'Put dead jobs back into line.';
