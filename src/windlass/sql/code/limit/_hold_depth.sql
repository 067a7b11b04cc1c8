-- Hold the limits on depth that these lanes come under until the transaction ends, so that what is counted from now on is
-- exact: the others' jobs are there, or not yet in line.  Before anything else that an enqueue may wait for.  Returns them.
--
-- In the order of their ids, so that nobody waits in a circle; hence who looks again (not p_wait) leaves out a limit that was
-- set meanwhile and that somebody else holds.  A snapshot from before would not see what the others have put there.
-- definer: engine
create function windlass._hold_depth(p_lanes integer[], p_wait boolean default true) returns integer[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limits integer[] := array(
    select distinct l.limit_id
    from windlass._limits_of(array(select distinct l from unnest(p_lanes) as l), true) as l
    order by 1);
begin
  if v_limits <> '{}' and current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'under a limit on depth jobs are enqueued in read committed transactions only' using errcode = 'WL007';
  end if;
  if not p_wait then
    return array(select m from unnest(v_limits) as m where pg_try_advisory_xact_lock(20054, m));
  end if;
  perform pg_advisory_xact_lock(20054, m) from unnest(v_limits) as m;
  return v_limits;
end
$$;
comment on function windlass._hold_depth is 'Hold the limits on depth that these lanes come under.';
