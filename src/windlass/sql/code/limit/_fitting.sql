-- Of jobs for these lanes, one element each, whether each still fits under every limit on depth, the first ones first.
-- Holds those limits until the transaction ends.
-- definer: engine
create function windlass._fitting(p_lanes integer[]) returns boolean[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits integer[];
  v_rooms bigint[];
begin
  v_limits := array(
    select distinct m.id from windlass_data.depth_limit as d
    join windlass_data.job_limit as m on m.id = d.limit_id
    join windlass_data.lane as l
      on l.id = any (p_lanes) and (m.tenant_id is null or m.tenant_id = l.tenant_id)
     and (m.queue is null or m.queue = l.queue) and (m.kind is null or m.kind = l.kind)
    order by m.id);
  perform pg_advisory_xact_lock(20054, m) from unnest(v_limits) as m;
  v_rooms := array(
    select m.depth - windlass._depth_of(m.id, m.depth) from unnest(v_limits) with ordinality as v(id, place)
    join windlass_data.job_limit as m on m.id = v.id order by v.place);
  return array(
    select coalesce(f.fits, true)
    from unnest(p_lanes) with ordinality as j(lane_id, place)
    left join (
      select r.place, bool_and(r.nth <= r.room) as fits
      from (
        select j.place, v.room, row_number() over (partition by v.id order by j.place) as nth
        from unnest(v_limits, v_rooms) as v(id, room)
        join windlass_data.job_limit as m on m.id = v.id
        join unnest(p_lanes) with ordinality as j(lane_id, place) on true
        join windlass_data.lane as l
          on l.id = j.lane_id and (m.tenant_id is null or m.tenant_id = l.tenant_id)
         and (m.queue is null or m.queue = l.queue) and (m.kind is null or m.kind = l.kind)
      ) as r
      group by r.place
    ) as f on f.place = j.place
    order by j.place);
end
$$;
comment on function windlass._fitting(integer[]) is 'Which of these jobs fit under the limits on depth.';
