-- Hold the limits on depth that these lanes come under until the transaction ends, so that what is counted from now on is
-- exact: the others' jobs are there, or not yet in line.  Before anything else that an enqueue may wait for.
--
-- A snapshot from before would not see what the others have put there.
-- definer: engine
create function windlass._hold_depth(p_lanes integer[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits integer[] := array(select distinct l.limit_id from windlass._depth_limits_of(p_lanes) as l order by 1);
begin
  if v_limits <> '{}' and current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'under a limit on depth jobs are enqueued in read committed transactions only' using errcode = 'WL007';
  end if;
  perform pg_advisory_xact_lock(20054, m) from unnest(v_limits) as m;
end
$$;
comment on function windlass._hold_depth(integer[]) is 'Hold the limits on depth that these lanes come under.';
