-- When time alone makes room in a limit that holds jobs of these lanes back; null if none does within a minute.
-- definer: none
create function windlass._next_room(p_lanes integer[], p_now timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select min(r.again_at)
    from windlass._limit_rooms(array(select distinct l.limit_id from windlass._limits_of(p_lanes) as l), p_now) as r
    where r.room = 0 and r.again_at < p_now + interval '1 minute');
end
$$;
comment on function windlass._next_room is 'When time makes room in a limit.';
