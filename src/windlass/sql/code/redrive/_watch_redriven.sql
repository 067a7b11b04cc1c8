-- Look which of the jobs that a redrive has revived have ended since, a page of them at a time, and count those.
-- Returns the redrive as it is then.  The caller holds its row.
-- definer: none
create function windlass._watch_redriven(p_redrive windlass_data.redrive) returns windlass_data.redrive
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row windlass_data.redrive;
  v_page record;
begin
  with page as materialized (
    select r.job_id, r.version from windlass_data.redriven as r
    where r.tenant_id = p_redrive.tenant_id and r.redrive_id = p_redrive.id and r.job_id > p_redrive.watched
    order by r.job_id
    limit 1000
  )
  select count(*) as size, (array_agg(p.job_id order by p.job_id desc))[1] as last,
         array_agg(p.job_id) filter (where j.id is null or j.ended_state is not null
                                        or (a.version > p.version and a.ends is not null)) as ended,
         count(*) filter (where a.version > p.version and a.ends = 'dead') as died
  into v_page
  from page as p
  left join lateral (
    select j.id, j.ended_state from windlass_data.job as j
    where j.tenant_id = p_redrive.tenant_id and j.id = p.job_id
    offset 0
  ) as j on true
  left join lateral (
    select a.version, a.ends from windlass_data.attempt as a
    where a.tenant_id = p_redrive.tenant_id and a.job_id = p.job_id
    order by a.version desc limit 1
  ) as a on true;
  delete from windlass_data.redriven as r
  where r.tenant_id = p_redrive.tenant_id and r.redrive_id = p_redrive.id and r.job_id = any (v_page.ended);
  update windlass_data.redrive as r
  set ended = r.ended + coalesce(cardinality(v_page.ended), 0), died = r.died + v_page.died,
      watched = case when v_page.size = 1000 then v_page.last else '00000000-0000-0000-0000-000000000000' end
  where r.tenant_id = p_redrive.tenant_id and r.id = p_redrive.id
  returning r.* into v_row;
  return v_row;
end
$$;
comment on function windlass._watch_redriven(windlass_data.redrive) is 'Count the revived jobs that have ended since.';
