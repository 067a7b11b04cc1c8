-- Check a page of a tenant's chain: p_limit seals after a place that was checked already, or from the beginning.
--
-- One snapshot for all of it, so that what is sealed meanwhile is not taken for a fault.  A hash is compared with what the
-- stored one before it leads to, so the first row that does not fit is the one to name.
-- definer: none
create function windlass._verify_chain(p_tenant uuid, p_after bigint, p_limit integer)
returns table (
  checked integer, cursor text, fault text, message text, event_id uuid, place bigint, at timestamptz, sealed bigint,
  head text, unsealed integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  v_page record;
  v_wrong record;
begin
  with page as materialized (
    select s.place, s.event_id, s.digest, s.hash,
           lag(s.place, 1, coalesce(p_after - 1, 0)) over w as place_before, lag(s.hash) over w as hash_before
    from (
      select s.* from windlass_data.seal as s
      where s.tenant_id = p_tenant and (p_after is null or s.place >= p_after)
      order by s.place
      limit p_limit + case when p_after is null then 0 else 1 end
    ) as s
    window w as (order by s.place)
  ), found as materialized (
    select p.place, p.event_id, e.at, p.place_before,
           case when p.place <> p.place_before + 1 then 'seal_removed'
                when p.place = p_after then null
                when e.id is null then 'event_removed'
                when windlass_data.event_digest(e) <> p.digest then 'event_altered'
                when windlass_data.seal_hash(coalesce(p.hash_before, ''), p.place, p.digest) <> p.hash then 'seal_altered'
           end as fault
    from page as p
    left join lateral (
      select e.* from windlass_data.event as e where e.tenant_id = p_tenant and e.id = p.event_id offset 0
    ) as e on true
  )
  select count(*) filter (where f.place is distinct from p_after) as checked, max(f.place) as last,
         (select p.hash from page as p order by p.place desc limit 1) as hash,
         (select to_jsonb(f) from found as f where f.fault is not null order by f.place limit 1) as wrong
  into v_page
  from found as f;
  if v_page.wrong is not null then
    select * into v_wrong
    from jsonb_to_record(v_page.wrong) as w(place bigint, event_id uuid, at timestamptz, place_before bigint, fault text);
    return query select f.* from windlass._audit_finding(
      v_page.checked, null, v_wrong.fault, windlass._fault_message(v_wrong.fault, v_wrong.place_before, v_wrong.place),
      v_wrong.event_id, v_wrong.place, v_wrong.at) as f;
  elsif v_page.checked = p_limit then
    return query select f.* from windlass._audit_finding(v_page.checked, 'c.' || v_page.last) as f;
  else
    return query select f.* from windlass._verify_head(
      p_tenant, v_page.checked, coalesce(v_page.last, 0), coalesce(v_page.hash, '')) as f;
  end if;
end
$$;
comment on function windlass._verify_chain is 'Check a page of a tenant''s chain.';
