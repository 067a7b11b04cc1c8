-- Keep house: make the tables of today and the days ahead, and remove what has run out.  Says what was done, and which
-- days could not be made (they are tried again at the next call; until then their jobs lie in the time to come).  Where that
-- has grown large the first call makes it the long day that ends today, and the next one the days from tomorrow on.
--
-- Any node may call this at any time: of two at once the second does nothing (`ran` is false).  The tables come last,
-- because they are made under a lock that everybody waits behind until the transaction, best one of its own, ends.
-- definer: owner
-- grant: worker, operator
create function windlass.maintain(p_days_ahead integer default 3, p_keep_nodes interval default '7 days')
returns table (
  ran boolean, made date[], missing date[], gates integer, cancel_requests integer, waiting integer, nodes integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_today date := (windlass_data.clock() at time zone 'UTC')::date;
  v_days date[];
begin
  if p_days_ahead is null or p_days_ahead not between 0 and 30 then
    raise exception 'days are made from 0 to 30 days ahead' using errcode = 'WL007';
  elsif p_keep_nodes is null or not p_keep_nodes between interval '1 minute' and interval '100 years' then
    raise exception 'nodes are kept from a minute to 100 years' using errcode = 'WL007';
  end if;
  made := '{}';
  missing := '{}';
  ran := pg_try_advisory_xact_lock(hashtextextended('windlass.maintain', 0));
  if ran then
    select s.gates, s.cancel_requests, s.waiting, s.nodes into gates, cancel_requests, waiting, nodes
    from windlass._sweep(p_keep_nodes) as s;
    v_days := array(
      select v_today + n from generate_series(0, p_days_ahead) as n
      where windlass_data.first_id((v_today + n)::timestamp at time zone 'UTC') >= windlass._ahead_from()
      order by n);
    if cardinality(v_days) > 0 and windlass._make_days(v_days) then
      made := array(select d from unnest(v_days) as d where to_regclass(to_char(d, '"windlass_data.job_"YYYYMMDD')) is not null);
    end if;
    missing := array(select d from unnest(v_days) as d where d <> all (made));
  end if;
  return next;
end
$$;
comment on function windlass.maintain is 'Make the tables of the days ahead, and remove what has run out.';
