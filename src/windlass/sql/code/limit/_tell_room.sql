-- Wake nodes that wait for work in the queues of these lanes, where so many jobs have ended that a limit may leave room.
-- definer: none
create function windlass._tell_room(p_lanes integer[], p_jobs integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform windlass._wake(array(
    select distinct la.queue
    from windlass._limits_of(p_lanes) as b
    join windlass_data.job_limit as m on m.id = b.limit_id
    -- A limit on more than one queue may hold work in another one than that of the job which ended.
    join windlass_data.waiting as w on true
    cross join lateral (select coalesce(m.queue, w.queue) as queue) as la
    where m.concurrency is not null), p_jobs);
end
$$;
comment on function windlass._tell_room is 'Wake nodes where a limit may leave room again.';
