-- The limits on depth that these lanes come under; the queues of Windlass itself come under none.
-- definer: none
create function windlass._depth_limits_of(p_lanes integer[]) returns table (lane_id integer, limit_id integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select l.id, m.id
  from windlass_data.depth_limit as d
  join windlass_data.job_limit as m on m.id = d.limit_id
  join windlass_data.lane as l
    on l.id = any (p_lanes) and not starts_with(l.queue, 'windlass.') and (m.tenant_id is null or m.tenant_id = l.tenant_id)
   and (m.queue is null or m.queue = l.queue) and (m.kind is null or m.kind = l.kind);
end
$$;
comment on function windlass._depth_limits_of(integer[]) is 'The limits on depth that these lanes come under.';
