-- Bring a worker's knowledge of the lanes up to date, and put into line what is due.  With this it can claim again and
-- again from the lanes that it names and from the places where it stopped, although the rows behind those places are
-- still there for the server to step over: a snapshot that somebody holds open keeps every row that ever waited.
--
-- The worker tells of each lane that it knows: nothing can be in line up to p_floors any more, and it has taken all that
-- it saw up to p_marks.  It is told
-- - of each open lane that it did not name (with p_all, of all);
-- - of each lane that it named, if a row is visible after the floor and no later than the mark (where the mark is null:
--   any row after the floor).  `head` is the first of them, and the mark must go back before it.  Such rows were
--   committed late, or somebody who held them has let go of them;
-- - in a first row without a lane, where it stands among transactions: its own is `number`, and all before seen_from have
--   ended.
--
-- A transaction gets its number before it takes its first place in line.  So whoever has a place no later than a mark of one
-- survey has a smaller number than the next survey; and once all with smaller ones have ended, what they wrote is visible: if
-- a third, whose seen_from has reached that number, shows no head, the mark is the new floor.  (Where a snapshot ends says
-- nothing of that: transactions that are newer than all that have ended lie beyond, those under way too.)  The same holds for
-- what is due: due_from is the earliest time in `scheduled` that was seen, not before p_since, and a transaction that schedules
-- something gets its number before it reads the clock.
-- definer: engine
-- grant: worker
create function windlass.survey_lanes(
  p_node uuid, p_queues text[], p_kinds text[] default null, p_lanes integer[] default '{}',
  p_floors bigint[] default '{}', p_marks bigint[] default '{}', p_since timestamptz default null,
  p_all boolean default false)
returns table (
  lane_id integer, flow text, priority integer, weight integer, one_line boolean, head bigint, seen_from bigint,
  number bigint, seen_at timestamptz, due_from timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_number xid8 := pg_current_xact_id();
  v_now timestamptz := windlass_data.clock();
  v_bound uuid := windlass_data.bound_tenant();  -- such a worker is told nothing of other tenants' lanes and times
begin
  if p_node is null or p_queues is null or p_lanes is null or cardinality(p_lanes) <> cardinality(p_floors)
     or cardinality(p_lanes) <> cardinality(p_marks) then
    raise exception 'a survey needs a node, its queues, and a floor and a mark for each lane' using errcode = 'WL007';
  end if;
  if v_bound is not null then
    perform windlass._is_own_node(p_node);
  end if;
  perform windlass._promote_jobs(1000, p_since);
  return query
  with open as materialized (
    select o.*, k.id is null as fresh
    from windlass._open_lanes(p_node, p_queues, p_kinds, null, p_lanes, p_floors) as o
    left join unnest(p_lanes) as k(id) on k.id = o.lane_id
  )
  select null::integer, null::text, null::integer, null::integer, null::boolean, null::bigint,
         pg_snapshot_xmin(pg_current_snapshot())::text::bigint, v_number::text::bigint, v_now,
         case when v_bound is null then (
           select min(s.run_at) from windlass_data.scheduled as s
           where s.run_at >= coalesce(p_since, '-infinity') and s.run_at < 'infinity')
         else p_since end
  union all
  select f.lane_id, f.flow, f.priority, f.weight, f.one_line, h.seq, null, null, null, null
  from open as f
  left join lateral (
    select r.seq from windlass_data.ready as r where f.fresh and r.lane_id = f.lane_id order by r.seq limit 1
  ) as h on true
  where f.fresh or p_all
  union all
  select k.lane_id, null, null, null, null, h.seq, null, null, null, null
  from unnest(p_lanes, p_floors, p_marks) as k(lane_id, floor, mark)
  cross join lateral (
    select r.seq from windlass_data.ready as r
    where r.lane_id = k.lane_id and r.seq > k.floor and r.seq <= coalesce(k.mark, 9223372036854775807)
    order by r.seq
    limit 1
  ) as h
  where v_bound is null
     or exists (select from windlass_data.lane as l where l.id = k.lane_id and l.tenant_id = v_bound);
end
$$;
comment on function windlass.survey_lanes is 'Which lanes have work, and from where to look; promotes what is due.';
