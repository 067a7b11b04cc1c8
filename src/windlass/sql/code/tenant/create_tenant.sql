-- Create a tenant.  The same slug and name again give the same tenant; the slug under another name is WL002.
-- definer: engine
-- grant: operator
create function windlass.create_tenant(
  p_slug text, p_name text default null, p_reason text default null, p_actor text default null)
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := coalesce(p_name, p_slug);
  v_id uuid;
  v_other text;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  if p_slug is null or p_slug !~ '^[a-z0-9][a-z0-9_-]{0,99}$' then
    raise exception 'a slug has 1 to 100 small letters, digits, _ or -, and begins with a letter or digit'
      using errcode = 'WL007';
  elsif length(v_name) not between 1 and 200 then
    raise exception 'the name of a tenant has 1 to 200 characters' using errcode = 'WL007';
  end if;
  insert into windlass_data.tenant (slug, name) values (p_slug, v_name)
  on conflict (slug) do nothing
  returning id into v_id;
  if found then
    insert into windlass_data.chain (tenant_id) values (v_id);
    perform windlass._record(v_id, 'tenant.create', null, p_reason, p_actor,
                             jsonb_build_object('slug', p_slug, 'name', v_name));
  else
    select t.id, t.name into v_id, v_other from windlass_data.tenant as t where t.slug = p_slug;
    if p_name is not null and v_other <> p_name then
      raise exception 'the slug % belongs to the tenant %', quote_literal(p_slug), quote_literal(v_other)
        using errcode = 'WL002', hint = 'Choose another slug; without a name that tenant is found as it is.';
    end if;
  end if;
  return v_id;
end
$$;
comment on function windlass.create_tenant is 'Create a tenant; returns its id.';
