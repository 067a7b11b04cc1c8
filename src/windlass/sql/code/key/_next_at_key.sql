-- The jobs whose turn it is at a key and who are not in line yet, in their order.  Who lets them in and whoever explains
-- why not ask here and nowhere else.  Each is let in by the limit that it says itself, and nobody before whoever is ahead:
-- else newer jobs with a higher limit would keep an older one waiting for ever.
-- definer: none
create function windlass._next_at_key(p_tenant uuid, p_kind text, p_key text)
returns table (tenant_id uuid, job_id uuid, priority smallint, place bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_holding bigint;
begin
  select count(*) into v_holding from windlass_data.key_line as h
  where h.tenant_id = p_tenant and h.kind = p_kind and h.key = p_key and h.held;
  return query
  select n.tenant_id, n.job_id, n.priority, n.place
  from (
    select n.*, bool_and(n.nth + v_holding <= n.allowed) over (order by n.nth) as let_in
    from (
      select k.*, row_number() over (order by k.priority desc, k.place) as nth
      from windlass_data.key_line as k
      where k.tenant_id = p_tenant and k.kind = p_kind and k.key = p_key and not k.held and k.place is not null
      order by k.priority desc, k.place
      limit 1000
    ) as n
  ) as n
  where n.let_in;
end
$$;
comment on function windlass._next_at_key is 'The jobs whose turn it is at a key.';
