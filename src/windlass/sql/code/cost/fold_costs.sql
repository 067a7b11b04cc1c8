-- Move up to p_limit of the latest costs into the sums of their days; returns how many rows were moved.
--
-- Adds up what was spent under budgets, too, as a claim does: who has spent too much is told of it although nothing more is
-- claimed.
--
-- One statement, so whoever adds up both sees each cost once at every moment.  Any node may call this at any time: of two
-- at once the second does nothing, and nobody waits.
-- definer: engine
-- grant: worker, operator
create function windlass.fold_costs(p_limit integer default 5000) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bound uuid := windlass_data.bound_tenant();
  v_moved integer;
begin
  if p_limit is null or p_limit not between 1 and 100000 then
    raise exception '1 to 100000 costs are folded at a time' using errcode = 'WL007';
  elsif not pg_try_advisory_xact_lock(hashtextextended('windlass.fold_costs', 0)) then
    return 0;
  end if;
  with taken as (
    delete from windlass_data.cost_delta as d
    where d.ctid = any (array(
      select d.ctid from windlass_data.cost_delta as d where v_bound is null or d.tenant_id = v_bound limit p_limit))
    returning d.*
  ), folded as (
    insert into windlass_data.cost_day as f (tenant_id, day, queue, kind, cents, entries)
    select t.tenant_id, t.day, t.queue, t.kind, sum(t.cents), sum(t.entries)
    from taken as t
    group by t.tenant_id, t.day, t.queue, t.kind
    order by t.tenant_id, t.day, t.queue, t.kind
    on conflict (tenant_id, day, queue, kind) do update
    set cents = f.cents + excluded.cents, entries = f.entries + excluded.entries
  )
  select count(*) into v_moved from taken;
  if v_bound is null and exists (select from windlass_data.spending) then
    perform windlass._add_up_spending(
      windlass._hold_limits(array(select distinct s.limit_id from windlass_data.spending as s), false),
      windlass_data.clock());
  end if;
  return v_moved;
end
$$;
comment on function windlass.fold_costs(integer) is 'Move the latest costs into the sums of their days.';
