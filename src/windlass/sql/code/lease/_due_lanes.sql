-- The lanes of which a scheduled job is due, at most a thousand, any of them.
--
-- Steps from lane to lane through the index, so it costs as much as there are lanes with scheduled jobs, not jobs.
-- definer: none
create function windlass._due_lanes(p_now timestamptz) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    with recursive step as (
      (select s.lane_id, s.run_at from windlass_data.scheduled as s order by s.lane_id, s.run_at limit 1)
      union all
      select n.lane_id, n.run_at
      from step as b
      cross join lateral (
        select s.lane_id, s.run_at from windlass_data.scheduled as s
        where s.lane_id > b.lane_id order by s.lane_id, s.run_at limit 1
      ) as n
    )
    select b.lane_id from step as b where b.run_at <= p_now order by random() limit 1000);
end
$$;
comment on function windlass._due_lanes(timestamptz) is 'The lanes of which a scheduled job is due.';
