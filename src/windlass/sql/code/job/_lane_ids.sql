-- The lane of each of these jobs, in the same order; null where it does not exist yet.
-- definer: none
create function windlass._lane_ids(p_tenant uuid, p_jobs windlass_data.new_job[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select l.id
    from unnest(p_jobs) with ordinality as n
    left join lateral (
      select l.id from windlass_data.lane as l
      where l.tenant_id = p_tenant and l.queue = coalesce(n.queue, 'default')
        and l.kind = n.kind and l.priority = coalesce(n.priority, 0)
      order by l.id limit 1
    ) as l on true
    order by n.ordinality);
end
$$;
comment on function windlass._lane_ids is 'The lane of each of these jobs, or null.';
