-- How many jobs are before this one in its tenant's line, and about how long that takes at the rate of late.
-- definer: none
create function windlass._why_line(p_job windlass_data.job, p_lane windlass_data.lane, p_now timestamptz)
returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_sort = off  -- the newest attempts come from the index in order, whatever is known about the table
as $$
declare
  v_most constant integer := 10000;
  v_ahead integer;
  v_rate double precision;
begin
  select count(*) into v_ahead
  from (
    select from (
      select distinct b.lane_id, b.priority from windlass_data.busy_lane as b
      where b.tenant_id = p_lane.tenant_id and b.queue = p_lane.queue and b.priority >= p_lane.priority
    ) as b
    cross join lateral (
      select from windlass_data.ready as r
      where r.lane_id = b.lane_id
        -- A job that is parked or was just due has no place yet: it comes behind all of its lane.
        and r.seq < coalesce(case when b.priority = p_lane.priority then p_job.seq end, 9223372036854775807)
      limit v_most
    ) as r
    limit v_most
  ) as ahead;
  -- Of all nodes; jobs of other tenants take their turns too.  Found among the newest jobs that were ever claimed: those
  -- just before the head of the line.
  select count(*) / nullif(extract(epoch from max(a.finished_at) - min(a.finished_at)), 0) into v_rate
  from (
    select a.finished_at from windlass_data.attempt as a
    where a.tenant_id = p_lane.tenant_id
    order by a.job_id desc
    limit 2000
  ) as a
  where a.finished_at > p_now - interval '10 seconds';
  return next (
    'line', false,
    case when v_ahead = 0 then 'it is the first of its tenant''s line'
         else format('%s%s jobs of its tenant are before it', case when v_ahead = v_most then 'more than ' end, v_ahead) end
      || case when v_ahead > 0 and v_rate > 0
              then format('; at %s a second that takes about %s s', round(v_rate::numeric, 1), ceil(v_ahead / v_rate))
              else '' end,
    'its turn', p_now + make_interval(secs => v_ahead / nullif(v_rate, 0)),
    jsonb_build_object('ahead', v_ahead, 'more', v_ahead = v_most, 'per_second', round(v_rate::numeric, 3))
  )::windlass_data.reason;
end
$$;
comment on function windlass._why_line is 'How many jobs are before this one.';
