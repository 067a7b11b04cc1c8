-- Tenants by slug, a page at a time (p_after: the last slug seen), with their load as _load_of counts it.
--
-- A role bound to a tenant finds its own only.
-- definer: engine
-- grant: operator, reader
create function windlass.list_tenants(p_limit integer default 100, p_after text default null)
returns table (
  id uuid, slug text, name text, created_at timestamptz, ready bigint, scheduled bigint, running bigint,
  weight integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_only uuid := windlass._confine(null);
begin
  perform windlass._check_page(p_limit, null, '');
  return query
  select t.id, t.slug, t.name, t.created_at, coalesce(w.ready, 0)::bigint, coalesce(w.scheduled, 0)::bigint,
         coalesce(w.running, 0)::bigint, t.weight::integer
  from (
    select t.* from windlass_data.tenant as t
    where (v_only is null or t.id = v_only) and (p_after is null or t.slug > p_after)
    order by t.slug
    limit p_limit
  ) as t
  cross join lateral (
    select sum(w.ready) as ready, sum(w.scheduled) as scheduled, sum(w.running) as running
    from windlass._load_of(array(select l.id from windlass_data.lane as l where l.tenant_id = t.id)) as w
  ) as w
  order by t.slug;
end
$$;
comment on function windlass.list_tenants is 'Tenants with their load, by slug.';
