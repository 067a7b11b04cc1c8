-- Of what each of these lanes may give, how much its limits leave, and the lanes to which they leave nothing (null: none).
-- Holds the limits until the transaction ends.
--
-- In the order given, so that the lanes of one limit together never get more than its room.  A lane that then gives less
-- than it was allotted has kept room from those behind it: the claim asks again.
-- definer: none
create function windlass._allot(
  p_lanes integer[], p_offers integer[], p_now timestamptz, p_wait boolean, out offers integer[], out shut integer[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lanes integer[];
  v_limits integer[];
  v_held integer[];
begin
  select array_agg(l.lane_id), array_agg(l.limit_id) into v_lanes, v_limits from windlass._limits_of(p_lanes) as l;
  if v_lanes is null then
    offers := p_offers;
    return;
  end if;
  v_held := windlass._hold_limits(array(select distinct l from unnest(v_limits) as l), p_wait);
  perform windlass._add_up_spending(v_held, p_now);
  select array_agg(x.part order by x.place), array_agg(x.lane_id) filter (where x.shut) into offers, shut
  from (
    select o.place, o.lane_id, least(o.offer, min(b.part)) as part, bool_or(b.room = 0) as shut
    from unnest(p_lanes, p_offers) with ordinality as o(lane_id, offer, place)
    left join (
      select b.lane_id, coalesce(r.room, 0) as room,
             greatest(0, least(coalesce(r.room, 0), 1000000)
               - (sum(o.offer) over (partition by b.limit_id order by o.place) - o.offer))::integer as part
      from unnest(v_lanes, v_limits) as b(lane_id, limit_id)
      join unnest(p_lanes, p_offers) with ordinality as o(lane_id, offer, place) on o.lane_id = b.lane_id
      left join windlass._limit_rooms(v_held, p_now) as r on r.limit_id = b.limit_id
    ) as b on b.lane_id = o.lane_id
    group by o.place, o.lane_id, o.offer
  ) as x;
end
$$;
comment on function windlass._allot is 'How much the limits leave to each lane.';
