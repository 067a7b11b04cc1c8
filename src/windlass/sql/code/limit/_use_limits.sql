-- Take a token for each of these starts (one element of p_lanes per job) from every bucket that it comes under.
-- The caller holds the limits.
-- definer: none
create function windlass._use_limits(p_lanes integer[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  update windlass_data.limit_use as u
  set tokens = least(m.burst, u.tokens + greatest(0, extract(epoch from p_now - u.filled_at)) * m.rate / m.rate_seconds)
               - m.started,
      filled_at = greatest(u.filled_at, p_now)
  from (
    select m.id, m.rate, m.rate_seconds, m.burst, sum(t.n) as started
    from (select t.lane_id, count(*) as n from unnest(p_lanes) as t(lane_id) group by t.lane_id) as t
    join windlass._limits_of(array(select distinct t from unnest(p_lanes) as t)) as l on l.lane_id = t.lane_id
    join windlass_data.job_limit as m on m.id = l.limit_id
    where m.rate is not null
    group by m.id
  ) as m
  where u.limit_id = m.id;
end
$$;
comment on function windlass._use_limits is 'Take tokens from the buckets that these starts come under.';
