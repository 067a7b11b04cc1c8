-- What becomes of a job whose idempotency key, or whose id, is taken.
--
-- The same job again: the existing one, nothing written.  Another content under the same key or id: WL002.  An id that
-- the caller gave counts before the key: a job that is there already is the same job, whoever has had its key since, and
-- the key stays with the last of them.  In the `active` scope a finished holder gives the key up; so does one whose
-- record is no longer kept.  The holder may vanish between two looks, hence the loop; a redrive may revive it, so the key
-- is locked and the holder looked at again before the key is taken over.
-- definer: none
create function windlass._resolve_duplicate(p_tenant uuid, p_job windlass_data.new_job, p_id uuid)
returns table (job_id uuid, created boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held record;
  v_locked boolean := false;
  v_mine boolean := p_job.id is not null and p_job.key is not null;  -- look at the job of this id, whoever has the key
begin
  loop
    select coalesce(k.job_id, p_id) as job_id, j.id is not null as kept, j.state in
           ('succeeded', 'dead', 'canceled', 'skipped') as finished,
           j.payload = p_job.payload and j.kind = p_job.kind
             and (j.id <> p_id or j.idempotency_key is not distinct from p_job.key) as same,
           j.idempotency_key is not distinct from p_job.key and p_job.key is not null as by_key
    into v_held
    from (values (1)) as one
    left join windlass_data.idempotency_key as k
      on not v_mine and k.tenant_id = p_tenant and k.kind = p_job.kind and k.key = p_job.key
    left join lateral windlass._describe_jobs(p_tenant, array[coalesce(k.job_id, p_id)]) as j on true
    where k.job_id is not null or p_job.key is null or v_mine;

    if not found then
      insert into windlass_data.idempotency_key (tenant_id, kind, key, job_id)
      values (p_tenant, p_job.kind, p_job.key, p_id)
      on conflict do nothing;
      created := found;
    elsif v_mine and not v_held.kept then
      v_mine := false;
    elsif (not v_held.kept or (p_job.scope = 'active' and v_held.finished and v_held.job_id <> p_id))
      and p_job.key is not null and not v_locked then
      perform from windlass_data.idempotency_key as k
      where k.tenant_id = p_tenant and k.kind = p_job.kind and k.key = p_job.key
      for no key update;
      v_locked := true;
    elsif not v_held.kept or (p_job.scope = 'active' and v_held.finished and v_held.job_id <> p_id) then
      created := true;
    elsif v_held.same then
      return query select v_held.job_id, false;
      return;
    else
      raise exception '% is taken by job % with another content',
        case when v_held.by_key then 'the idempotency key ' || quote_literal(p_job.key) else 'the id' end, v_held.job_id
        using errcode = 'WL002', detail = jsonb_build_object('job_id', v_held.job_id)::text;
    end if;
    if created then
      perform windlass._insert_jobs(
        p_tenant, array[p_job], array[p_id], windlass._lane_ids(p_tenant, array[p_job]));
      if found then
        update windlass_data.idempotency_key as k  -- locked above, unless it is new
        set job_id = p_id
        where k.tenant_id = p_tenant and k.kind = p_job.kind and k.key = p_job.key and k.job_id = v_held.job_id;
        if p_job.concurrency_key is not null then
          perform windlass._join_key_lines(p_tenant, array[p_id]);
        end if;
        return query select p_id, true;
        return;
      elsif p_job.key is not null then
        created := false;
        v_mine := true;
      end if;
    end if;
  end loop;
end
$$;
comment on function windlass._resolve_duplicate(uuid, windlass_data.new_job, uuid) is
  'What becomes of a job whose key or id is taken.';
