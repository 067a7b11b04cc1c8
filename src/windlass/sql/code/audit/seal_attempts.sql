-- Chain the attempts that ended since the last time, of all tenants, and return how many; ask again while there were any.
--
-- Nothing is written where attempts end.  They are listed by the time of their end, a minute after it at the earliest, once no
-- transaction is left that may still write one of that time: whoever ends an attempt has its transaction's number before it
-- reads the clock, and numbers above `noted_xid` were given after `noted_at`.  The minute is for a clock that is set back
-- a little; if it is set back further, that is recorded.  A window is closed with 10,000 attempts, or after ten minutes.
-- Does nothing in a transaction that has written before: its number is no mark in time.
-- definer: engine
-- grant: worker, operator
create function windlass.seal_attempts() returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_nil constant uuid := '00000000-0000-0000-0000-000000000000';
  v_now timestamptz := windlass_data.clock();  -- before this transaction has a number
  v_row windlass_data.sealing;
  v_to timestamptz;
  v_upto timestamptz;
  v_found record;
  v_sealed integer := 0;
begin
  if windlass_data.bound_tenant() is not null or pg_current_xact_id_if_assigned() is not null
     or current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
     or not exists (select from windlass_data.sealing as s where s.next_at <= v_now or s.sealed_to > v_now) then
    return 0;
  end if;
  select s.* into v_row from windlass_data.sealing as s for update skip locked;
  if not found then
    return 0;
  end if;
  perform windlass._hold_days();  -- what a dropped day leaves behind is moved, and would be missed
  v_to := v_row.noted_at - interval '1 minute';
  if v_row.sealed_to > v_now then
    if not exists (
      select from windlass_data.event as e
      where e.tenant_id = v_nil and e.action = 'clock.back' and (e.details ->> 'from')::timestamptz <= v_now
        and (e.details ->> 'to')::timestamptz >= v_row.sealed_to
    ) then
      perform windlass._record(v_nil, 'clock.back', null, null, 'windlass', jsonb_build_object(
        'from', v_now - interval '10 minutes', 'to', v_row.sealed_to));
    end if;
  elsif v_row.noted_xid is null or v_row.noted_xid > pg_current_xact_id() or v_to < v_row.sealed_to then
    v_row.noted_xid := null;
  elsif pg_snapshot_xmin(pg_current_snapshot()) <= v_row.noted_xid then
    v_row.next_at := v_now + interval '5 seconds';
  else
    for v_step in 1..200 loop  -- past times in which nothing ended
      v_upto := case when isfinite(v_row.sealed_to)
                     then least(v_to, greatest(v_upto, v_row.sealed_to) + v_row.step) else v_to end;
      select count(*) as n, min(a.finished_at) as first into v_found
      from windlass_data.attempt as a
      where a.finished_at > v_row.sealed_to and a.finished_at <= v_upto;
      exit when v_found.n > 0 or v_upto = v_to;
    end loop;
    v_row.noted_xid := case when v_found.n > 20000 or v_upto < v_to then v_row.noted_xid end;
    if v_found.n > 20000 then
      v_upto := v_found.first + (v_upto - v_found.first) * (10000.0 / v_found.n)::double precision;
    end if;
    -- As long as the last window was in which there were enough: who catches up does not count all of it again and again.
    v_row.step := least(interval '10 minutes', greatest(interval '10 milliseconds',
      v_row.step * case when v_found.n > 0 then least(2, 15000.0 / v_found.n)::double precision else 2 end));
    if v_found.n = 0 or v_found.n >= 10000 or v_upto < v_to or v_upto >= v_row.sealed_to + interval '10 minutes' then
      v_row.number := v_row.number + 1;
      select w.attempts, w.pages into v_found from windlass._seal_window(v_row.sealed_to, v_upto, v_row.number) as w;
      v_sealed := v_found.attempts;
      v_row.sealed_to := v_upto;
      select f.tenant_id, f.number into v_row.swept_tenant, v_row.swept_number
      from windlass._forget_pages(v_row.swept_tenant, v_row.swept_number, 20 + 2 * v_found.pages) as f;
    end if;
  end if;
  if v_row.noted_xid is null then
    v_row.noted_at := v_now;
    v_row.noted_xid := pg_current_xact_id();
    v_row.next_at := v_now + interval '30 seconds';
  end if;
  update windlass_data.sealing as s
  set (sealed_to, step, number, noted_at, noted_xid, next_at, swept_tenant, swept_number) =
      (v_row.sealed_to, v_row.step, v_row.number, v_row.noted_at, v_row.noted_xid, v_row.next_at, v_row.swept_tenant,
       v_row.swept_number);
  return v_sealed;
end
$$;
comment on function windlass.seal_attempts() is 'Chain the attempts that ended since the last time.';
