-- How many jobs each of these lanes must offer, so that the first of all that share a place are among them.
--
-- Lanes of a strict queue stand in one line, and one of them may hold the whole head of it.  So look, without holding
-- anything: a lane that gave all that it was asked for before the end of the line's share may have more of it, and is asked
-- for more.  Of what a share takes four times as much is looked at, so at most a quarter of the lanes is asked again:
-- four or five looks are enough for a thousand, and each is at about as many rows.
-- definer: none
create function windlass._join_lines(
  p_lanes integer[], p_places bigint[], p_marks bigint[], p_shares integer[], p_offers integer[]) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_offers integer[] := p_offers;
  v_again integer[];
begin
  loop
    with line as materialized (
      select b.nth, b.place, b.share, b.offer, r.seq, row_number() over (partition by b.place order by r.seq) as turn
      from unnest(p_lanes, p_places, p_marks, p_shares, v_offers) with ordinality
        as b(lane_id, place, mark, share, offer, nth)
      cross join lateral (
        select r.seq from windlass_data.ready as r
        where r.lane_id = b.lane_id and r.seq > coalesce(b.mark, 0)
        order by r.seq
        limit b.offer
      ) as r
    ), short as (
      select l.nth, l.place, l.share
      from line as l
      left join (select e.place, e.seq from line as e where e.turn = e.share) as e on e.place = l.place
      where l.offer < l.share
      group by l.nth, l.place, l.share, l.offer, e.seq
      having count(*) = l.offer and coalesce(max(l.seq) < e.seq, true)
    ), asked as (
      select s.nth, least(s.share, ceil(4.0 * s.share / count(*) over (partition by s.place)))::integer as offer
      from short as s
    )
    select array_agg(coalesce(a.offer, o.offer) order by o.nth), array_agg(a.nth) filter (where a.nth is not null)
    into v_offers, v_again
    from unnest(v_offers) with ordinality as o(offer, nth)
    left join asked as a on a.nth = o.nth;
    exit when v_again is null;
  end loop;
  return v_offers;
end
$$;
comment on function windlass._join_lines is
  'How many jobs lanes must offer so that the first of their joint line are among them.';
