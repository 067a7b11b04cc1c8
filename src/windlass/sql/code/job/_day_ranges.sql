-- The smallest and the largest of these ids on each day that has some, in their order.
--
-- Jobs and attempts are kept by day, by their ids.  A statement that names such a range and is planned for it
-- (plan_cache_mode = force_custom_plan) opens and locks the table of one day: what it costs does not grow with the days kept.
-- A plan for every range locks all of them each time.  Ids from 2200 on are no times and lie in the rest, all together.
-- definer: none
create function windlass._day_ranges(p_ids uuid[]) returns table (first uuid, last uuid)
language plpgsql immutable rows 1
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_day constant bigint := 86400000;  -- in milliseconds, which are an id's first 48 bits
  v_time bigint;
begin
  select r.first, r.last into first, last from windlass._id_range(p_ids) as r;
  v_time := ('x' || translate(left(first::text, 13), '-', ''))::bit(48)::bigint;
  if first = last or last < (lpad(to_hex((v_time / v_day + 1) * v_day), 12, '0') || repeat('0', 20))::uuid then
    return next;
    return;
  end if;
  return query
  select d.ids[1], d.ids[cardinality(d.ids)]
  from (
    select array_agg(i.id order by i.id) as ids
    from unnest(p_ids) as i(id)
    group by least(('x' || translate(left(i.id::text, 13), '-', ''))::bit(48)::bigint / v_day, 84006)
  ) as d
  order by 1;
end
$$;
comment on function windlass._day_ranges(uuid[]) is 'The range of these ids on each of their days.';
