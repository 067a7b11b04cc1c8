-- Note costs under the budgets that they come under; one element of each array per cost.  Writes nothing where there is no
-- budget, and waits for nobody: the next claim adds them up.
-- definer: none
create function windlass._note_spending(p_lanes integer[], p_cents bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from windlass_data.job_limit as m where m.budget_period is not null) then
    insert into windlass_data.spending (limit_id, at, cents)
    select m.id, windlass_data.clock(), sum(c.cents)::bigint
    from unnest(p_lanes, p_cents) as c(lane_id, cents)
    join windlass._limits_of(array(select distinct l from unnest(p_lanes) as l)) as l on l.lane_id = c.lane_id
    join windlass_data.job_limit as m on m.id = l.limit_id
    where c.cents > 0 and m.budget_period is not null
    group by m.id;
  end if;
end
$$;
comment on function windlass._note_spending is 'Note costs under the budgets that they come under.';
