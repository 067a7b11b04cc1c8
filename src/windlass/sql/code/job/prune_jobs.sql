-- Remove finished jobs whose keep has passed (null: kept for ever), with their attempts, results and keys.  A call does
-- one bounded piece of work: it drops one day, or deletes up to p_limit jobs.  `more`: there is more to do now; `busy`:
-- days that a lock kept from being dropped, which the next call tries again.
--
-- A day goes as a whole once it is past its keep.  That costs what the jobs cost that outlive it, and a look through
-- those that wait or run, whatever the number dropped.  Jobs are deleted one by one, found by their indexes, only
-- outside all days, where too many outlive their day, for a keep under a day, and when a day was busy for three days.
-- A session bound to a tenant removes that tenant's jobs, and never a day.  Call it in a transaction of its own: when a
-- day has gone, everybody waits until that commits.
-- definer: engine
-- grant: worker, operator
create function windlass.prune_jobs(
  p_keep_succeeded interval, p_keep_canceled interval, p_keep_skipped interval, p_keep_dead interval,
  p_limit integer default 5000)
returns table (dropped date[], busy date[], removed integer, more boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keeps interval[] := array[p_keep_succeeded, p_keep_canceled, p_keep_skipped, p_keep_dead];
  v_bound uuid := windlass_data.bound_tenant();
  v_now timestamptz := windlass_data.clock();
  v_before jsonb;
  v_day record;
  v_answer text;
  v_parts text[] := array['rest', 'ahead'];
  v_dues jsonb[];
begin
  if exists (select from unnest(v_keeps) as k where not k between interval '0' and interval '100 years')
     or p_limit is null or p_limit not between 1 and 100000 then
    raise exception 'a keep is from 0 to 100 years, and a limit from 1 to 100000' using errcode = 'WL007';
  elsif current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'an older snapshot does not show where jobs stand: prune in read committed' using errcode = 'WL007';
  end if;
  dropped := '{}';
  busy := '{}';
  removed := 0;
  if pg_try_advisory_xact_lock(hashtextextended('windlass.prune_jobs', 0)) then
    select jsonb_object_agg(s.state, v_now - s.keep) into v_before
    from unnest(array['succeeded', 'canceled', 'skipped', 'dead'], v_keeps) as s(state, keep)
    where s.keep is not null;
    v_dues := array[v_before, v_before];
    for v_day in select d.* from windlass._past_days(v_before, v_now) as d loop
      v_answer := case when v_bound is not null or not v_day.whole then 'many'
                       when busy = '{}' then windlass._drop_day(v_day.day, v_before, p_limit)
                       else 'busy' end;
      exit when v_answer in ('dropped', 'keys');
      if v_answer = 'busy' then
        busy := busy || v_day.day;
      end if;
      if v_answer = 'many' or v_day.overdue then
        v_parts := v_parts || to_char(v_day.day, 'YYYYMMDD');
        v_dues := v_dues || v_day.due;
      end if;
    end loop;
    if v_answer = 'dropped' then
      dropped := array[v_day.day];
    elsif v_answer is distinct from 'keys' then
      for i in 1..cardinality(v_parts) loop
        removed := removed + windlass._prune_slice(v_parts[i], v_dues[i], p_limit - removed);
        exit when removed >= p_limit;
      end loop;
    end if;
  end if;
  if dropped <> '{}' or removed > 0 then
    perform windlass._note_pruned(v_bound, v_before);
  end if;
  more := v_answer in ('dropped', 'keys') is true or removed >= p_limit;
  return next;
end
$$;
comment on function windlass.prune_jobs is 'Remove finished jobs whose keep has passed, a day or some jobs at a time.';
