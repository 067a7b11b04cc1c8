-- Wake nodes that wait for work in the queues of these lanes, where so many jobs have ended that a limit may leave room:
-- where every limit names a kind or all name one tenant, only nodes that can run such jobs.
-- definer: none
create function windlass._tell_room(p_lanes integer[], p_jobs integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_room record;
begin
  select array_agg(distinct coalesce(m.queue, w.queue)) as queues,
         case when bool_and(m.kind is not null) then array_agg(distinct m.kind) end as kinds,
         case when bool_and(m.tenant_id is not null) then array_agg(distinct m.tenant_id) end as tenants
  into v_room
  from windlass._limits_of(p_lanes) as b
  join windlass_data.job_limit as m on m.id = b.limit_id
  -- A limit on more than one queue may hold work in another one than that of the job which ended.
  join windlass_data.waiting as w on true
  where m.concurrency is not null;
  if v_room.queues is not null then
    perform windlass._wake(
      v_room.queues, p_jobs, v_room.kinds, case when cardinality(v_room.tenants) = 1 then v_room.tenants[1] end);
  end if;
end
$$;
comment on function windlass._tell_room is 'Wake nodes where a limit may leave room again.';
