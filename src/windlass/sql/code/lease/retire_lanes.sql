-- Take lanes that have nothing in line off the list that claims look at, up to p_limit, and drop double entries.
-- Returns how many rows went.
--
-- Two looks: the first finds empty lanes; the second, under an exclusive lock against everybody who is putting a job into
-- one of them (see _note_work), is a statement of its own and so sees all that they committed.  Never waits.  In a
-- transaction with one snapshot for all statements the second look would see nothing new, so nothing is done there.
-- The first looks from the end of the line, where its newest are: a held snapshot keeps all that has left it in front.
-- definer: engine
-- grant: worker, operator
create function windlass.retire_lanes(p_limit integer default 1000) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_lanes integer[];
  v_retired integer;
  v_double integer;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
     or not pg_try_advisory_xact_lock(hashtextextended('windlass.retire_lanes', 0)) then
    return 0;
  end if;
  v_lanes := array(
    select distinct b.lane_id from windlass_data.busy_lane as b
    where (select r.seq from windlass_data.ready as r where r.lane_id = b.lane_id order by r.seq desc limit 1) is null
      and (v_bound is null or b.tenant_id = v_bound)
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
comment on function windlass.retire_lanes(integer) is 'Take empty lanes off the list that claims look at.';
