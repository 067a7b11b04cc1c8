-- Say that these lanes may have jobs in line, for every place that puts some there, in the same transaction.
--
-- The shared locks are held until the commit.  retire_lanes, which takes a lane off the list, needs them exclusively and
-- looks again once it has them: it sees what was committed before, and whoever comes later sees that the lane is gone.
-- They are few (one of 256 for each lane), so that a transaction over thousands of lanes does not use up the server's
-- lock table; nothing but a retirement, which is short and never waits, holds them exclusively.
--
-- A snapshot that is older than the lock may still see a row that is gone, so with one the row is written in any case.
-- definer: none
create function windlass._note_work(p_lanes integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fresh boolean := current_setting('transaction_isolation') in ('read committed', 'read uncommitted');
  v_lanes integer[] := p_lanes;
begin
  if cardinality(p_lanes) = 1 then
    perform pg_advisory_xact_lock_shared(20053, p_lanes[1] & 255);
    if v_fresh and exists (select from windlass_data.busy_lane as b where b.lane_id = p_lanes[1]) then
      return;
    end if;
  else
    select array_agg(distinct l) into v_lanes from unnest(p_lanes) as l where l is not null;
    perform pg_advisory_xact_lock_shared(20053, b.bucket)
    from (select distinct l & 255 as bucket from unnest(v_lanes) as l order by 1) as b;
  end if;
  if v_fresh then
    select array_agg(l) into v_lanes from unnest(v_lanes) as l
    where not exists (select from windlass_data.busy_lane as b where b.lane_id = l);
  end if;
  if v_lanes is not null then
    insert into windlass_data.busy_lane (lane_id, tenant_id, queue, kind, priority)
    select l.id, l.tenant_id, l.queue, l.kind, l.priority
    from unnest(v_lanes) as b(id)
    cross join lateral (select l.* from windlass_data.lane as l where l.id = b.id offset 0) as l;
  end if;
end
$$;
comment on function windlass._note_work(integer[]) is 'Say that these lanes may have jobs in line.';
