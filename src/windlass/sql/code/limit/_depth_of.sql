-- How many jobs wait in a limit's scope; beyond p_enough it does not count on.
-- definer: none
create function windlass._depth_of(p_limit integer, p_enough bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select count(*)
    from (
      select
      from windlass_data.job_limit as m
      join windlass_data.lane as l
        on (m.tenant_id is null or l.tenant_id = m.tenant_id) and (m.queue is null or l.queue = m.queue)
       and (m.kind is null or l.kind = m.kind) and not starts_with(l.queue, 'windlass.')
      cross join lateral (
        select from windlass_data.ready as r where r.lane_id = l.id
        union all
        select from windlass_data.scheduled as s where s.lane_id = l.id
      ) as waiting
      where m.id = p_limit and p_enough is not null
      limit p_enough + 1
    ) as counted);
end
$$;
comment on function windlass._depth_of is 'How many jobs wait in a limit''s scope.';
