-- Give a tenant another weight: where tenants of a fair queue take turns, one of weight 3 gets three jobs for one of
-- another's.  Holds from the commit on, for jobs that wait already too.
-- definer: engine
-- grant: operator
create function windlass.set_tenant(
  p_tenant uuid, p_weight integer, p_reason text default null, p_actor text default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before integer;
begin
  perform windlass._check_said(p_reason, p_actor);
  perform windlass._require_unbound();
  if p_weight is null or p_weight not between 1 and 1000 then
    raise exception 'the weight of a tenant is from 1 to 1000' using errcode = 'WL007';
  end if;
  select t.weight into v_before from windlass_data.tenant as t where t.id = p_tenant for no key update;
  if not found then
    raise exception 'there is no tenant %', p_tenant using errcode = 'WL001';
  end if;
  update windlass_data.tenant as t set weight = p_weight where t.id = p_tenant and t.weight <> p_weight;
  perform windlass._record(p_tenant, 'tenant.set', null, p_reason, p_actor, jsonb_build_object(
    'weight', p_weight, 'weight_before', v_before));
end
$$;
comment on function windlass.set_tenant is 'Give a tenant another weight.';
