-- Refuse a gate that could hold nothing: names that no queue, kind or node can have, or a tenant that is not there; and one
-- that would hold everything though nobody said so.
-- definer: none
create function windlass._check_gate(
  p_tenant uuid, p_queue text, p_kind text, p_node text, p_expires_at timestamptz, p_everything boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_everything <> (num_nonnulls(p_tenant, p_queue, p_kind, p_node) = 0) then
    raise exception 'a gate names a tenant, queue, kind or node, or else everything' using errcode = 'WL007';
  elsif p_queue !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$' then
    raise exception 'the queue must have 1 to 100 letters, digits or _ . : / -' using errcode = 'WL007';
  elsif p_kind !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,199}$' then
    raise exception 'the kind must have 1 to 200 letters, digits or _ . : / -' using errcode = 'WL007';
  elsif length(p_node) not between 1 and 200 then
    raise exception 'the node must be an id or a name of 1 to 200 characters' using errcode = 'WL007';
  elsif not windlass._is_time(p_expires_at) or p_expires_at <= windlass_data.clock() then
    raise exception 'a gate must expire at a time to come, up to 9999-12-30, or not at all' using errcode = 'WL007';
  elsif p_tenant is not null and not exists (select from windlass_data.tenant as t where t.id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'WL001';
  end if;
end
$$;
comment on function windlass._check_gate is 'Refuse a gate that could hold nothing.';
