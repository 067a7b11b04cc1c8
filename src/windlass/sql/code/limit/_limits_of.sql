-- The limits on claims, or those on depth, that these lanes come under.  The claim, whoever explains it and an enqueue ask here
-- and nowhere else.  The queues of Windlass itself come under none: a tenant at its limit can still be redriven.
-- definer: none
create function windlass._limits_of(p_lanes integer[], p_depth boolean default false)
returns table (lane_id integer, limit_id integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select l.id, m.id
  from unnest(p_lanes) as p(id)
  cross join lateral (
    select l.* from windlass_data.lane as l where l.id = p.id and not starts_with(l.queue, 'windlass.') offset 0
  ) as l
  cross join lateral (
    select m.* from windlass_data.job_limit as m where m.tenant_id = l.tenant_id
    union all
    select m.* from windlass_data.job_limit as m where m.tenant_id is null
  ) as m
  where case when p_depth then m.depth is not null else m.claims end
    and (m.queue is null or m.queue = l.queue) and (m.kind is null or m.kind = l.kind);
end
$$;
comment on function windlass._limits_of is 'The limits that these lanes come under.';
