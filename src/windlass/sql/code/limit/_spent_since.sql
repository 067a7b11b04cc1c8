-- What was spent in this scope from a moment on.  Sums are kept by the day: of a part of a day nothing is known, so it is 0.
-- definer: none
create function windlass._spent_since(p_tenant uuid, p_queue text, p_kind text, p_since timestamptz) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from date := (p_since at time zone 'UTC')::date;
begin
  if v_from::timestamp at time zone 'UTC' <> p_since then
    return 0;
  end if;
  return least(9223372036854775807, (
    select coalesce(sum(c.cents), 0)
    from (
      select d.tenant_id, d.queue, d.kind, d.cents from windlass_data.cost_day as d where d.day >= v_from
      union all
      select d.tenant_id, d.queue, d.kind, d.cents from windlass_data.cost_delta as d where d.day >= v_from
    ) as c
    where (p_tenant is null or c.tenant_id = p_tenant) and (p_queue is null or c.queue = p_queue)
      and (p_kind is null or c.kind = p_kind)))::bigint;
end
$$;
comment on function windlass._spent_since is 'What was spent in a scope from a day on.';
