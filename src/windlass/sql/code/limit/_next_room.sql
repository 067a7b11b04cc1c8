-- When time alone makes room in a limit that holds jobs of these lanes back; null if none does within a minute.
--
-- Under a high rate not the next token but what comes in 20 ms, as far as the bucket holds it: who asked for each single one
-- would ask a thousand times a second.
-- definer: none
create function windlass._next_room(p_lanes integer[], p_now timestamptz) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select min(r.again_at + case when r.tokens < 1 then make_interval(
             secs => (least(m.burst, greatest(1, floor(0.02 * m.rate / m.rate_seconds))) - 1) * m.rate_seconds / m.rate)
           else interval '0' end)
    from windlass._limit_rooms(array(select distinct l.limit_id from windlass._limits_of(p_lanes) as l), p_now) as r
    join windlass_data.job_limit as m on m.id = r.limit_id
    where r.room = 0 and r.again_at < p_now + interval '1 minute');
end
$$;
comment on function windlass._next_room is 'When time makes room in a limit.';
