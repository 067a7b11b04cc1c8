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
  v_bounds integer[];
  v_fits boolean[] := '{}';
  v_lane integer;
begin
  v_limits := windlass._hold_depth(p_lanes);  -- one that is set from now on does not count
  select array_agg(m.id), array_agg(m.depth - windlass._depth_of(m.id, m.depth)) into v_limits, v_rooms
  from windlass_data.job_limit as m
  where m.id = any (v_limits) and m.depth is not null;
  foreach v_lane in array p_lanes loop
    -- A job that one limit leaves out takes no room of another.
    v_bounds := array(select array_position(v_limits, d.limit_id) from windlass._limits_of(array[v_lane], true) as d
                      where d.limit_id = any (v_limits));
    v_fits := v_fits || not exists (select from unnest(v_bounds) as b where v_rooms[b] <= 0);
    if v_fits[cardinality(v_fits)] then
      for v_place in 1..cardinality(v_bounds) loop
        v_rooms[v_bounds[v_place]] := v_rooms[v_bounds[v_place]] - 1;
      end loop;
    end if;
  end loop;
  return v_fits;
end
$$;
comment on function windlass._fitting(integer[]) is 'Which of these jobs fit under the limits on depth.';
