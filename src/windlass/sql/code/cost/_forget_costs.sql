-- Remove the entries of jobs that went with their day, looking at about p_limit entries.  The sums stay.
--
-- Dropping a day takes no time, so it only notes the day, and this follows at leisure.  Where it stopped is noted too.
-- definer: engine
create function windlass._forget_costs(p_limit integer) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_day record;
  v_seen record;
begin
  if windlass_data.bound_tenant() is not null then
    return;
  end if;
  select d.day, d.removed_to, windlass_data.first_id(d.day::timestamp at time zone 'UTC') as day_from,
         windlass_data.first_id((d.day + 1)::timestamp at time zone 'UTC') as day_to
  into v_day
  from windlass_data.dropped_day as d order by d.day limit 1 for update skip locked;
  if not found then
    return;
  end if;
  select count(*) as n, (array_agg(c.job_id order by c.job_id desc))[1] as last into v_seen
  from (
    select c.job_id from windlass_data.cost as c
    where c.job_id >= v_day.day_from and c.job_id < v_day.day_to
      and (v_day.removed_to is null or c.job_id > v_day.removed_to)
    order by c.job_id
    limit p_limit
  ) as c;
  delete from windlass_data.cost as c
  where c.job_id >= v_day.day_from and c.job_id <= v_seen.last
    and (v_day.removed_to is null or c.job_id > v_day.removed_to)
    and not exists (select from windlass_data.job as j where j.tenant_id = c.tenant_id and j.id = c.job_id);
  if v_seen.n < p_limit then
    delete from windlass_data.dropped_day as d where d.day = v_day.day;
  else
    update windlass_data.dropped_day as d set removed_to = v_seen.last where d.day = v_day.day;
  end if;
end
$$;
comment on function windlass._forget_costs(integer) is 'Remove the entries of jobs that went with their day.';
