-- Those of these lanes of which a limit leaves no room, as far as can be seen without holding it.
-- definer: none
create function windlass._shut_lanes(p_lanes integer[], p_now timestamptz) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bounds record;
begin
  select array_agg(l.lane_id) as lanes, array_agg(l.limit_id) as limits into v_bounds from windlass._limits_of(p_lanes) as l;
  return array(
    select distinct b.lane_id
    from unnest(v_bounds.lanes, v_bounds.limits) as b(lane_id, limit_id)
    join windlass._limit_rooms(array(select distinct l from unnest(v_bounds.limits) as l), p_now) as r
      on r.limit_id = b.limit_id
    where r.room = 0);
end
$$;
comment on function windlass._shut_lanes is 'Lanes of which a limit leaves no room.';
