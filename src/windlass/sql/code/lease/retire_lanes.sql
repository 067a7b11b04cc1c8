-- Take lanes that have nothing in line off the list that claims look at, up to p_limit, and drop double entries.
-- Returns how many rows went.
--
-- Two looks: the first finds empty lanes; the second, under an exclusive lock against everybody who is putting a job into
-- one of them (see _note_work), is a statement of its own and so sees all that they committed.  Never waits.  In a
-- transaction with one snapshot for all statements the second look would see nothing new, so nothing is done there.
-- The first looks from the end of the line, where its newest are: a held snapshot keeps all that has left it in front.
--
-- p_idle: only lanes of tenants that have enqueued nothing for so long.  What came and went just now comes again, and of such
-- a lane a held snapshot may have kept very much.  Every now and then somebody must ask without it: others have been empty
-- all the while.
-- definer: engine
-- grant: worker, operator
create function windlass.retire_lanes(p_limit integer default 1000, p_idle interval default null) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan  -- see _day_ranges
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_from uuid := windlass_data.first_id(windlass_data.clock() - p_idle);
  v_to uuid := windlass_data.first_id(windlass_data.clock() + interval '1 hour');  -- other machines' clocks may be ahead
  v_lanes integer[];
  v_retired integer;
  v_double integer;
begin
  if p_limit is null or p_limit not between 1 and 100000 or p_idle not between interval '0' and interval '1 year' then
    raise exception 'retirement takes 1 to 100000 lanes at a time, of tenants that rested for up to a year'
      using errcode = 'WL007';
  end if;
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
     or not pg_try_advisory_xact_lock(hashtextextended('windlass.retire_lanes', 0)) then
    return 0;
  end if;
  v_lanes := array(
    with quiet as materialized (
      select distinct b.lane_id from windlass_data.busy_lane as b
      where (v_bound is null or b.tenant_id = v_bound)
        and (p_idle is null or (
          select j.id from windlass_data.job as j
          where j.tenant_id = b.tenant_id and j.id between v_from and v_to limit 1) is null)
    )
    select q.lane_id from quiet as q
    where (select r.seq from windlass_data.ready as r where r.lane_id = q.lane_id order by r.seq desc limit 1) is null
    limit p_limit);
  v_lanes := array(
    select l from unnest(v_lanes) as l
    join (
      select b.bucket, pg_try_advisory_xact_lock(20053, b.bucket) as free
      from (select distinct l & 255 as bucket from unnest(v_lanes) as l order by 1) as b
    ) as b on b.bucket = l & 255 and b.free);
  delete from windlass_data.busy_lane as b
  where b.lane_id = any (v_lanes)
    and not exists (select from windlass_data.ready as r where r.lane_id = b.lane_id);
  get diagnostics v_retired = row_count;
  delete from windlass_data.busy_lane as b
  using windlass_data.busy_lane as o
  where o.lane_id = b.lane_id and o.ctid < b.ctid and (v_bound is null or b.tenant_id = v_bound);
  get diagnostics v_double = row_count;
  return v_retired + v_double;
end
$$;
comment on function windlass.retire_lanes(integer, interval) is 'Take empty lanes off the list that claims look at.';
