-- The lane of this queue, kind and priority, made if it is not there yet.
-- definer: none
create function windlass._lane_of(p_tenant uuid, p_queue text, p_kind text, p_priority integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job windlass_data.new_job;
  v_id integer;
begin
  loop
    select l.id into v_id from windlass_data.lane as l
    where l.tenant_id = p_tenant and l.queue = p_queue and l.kind = p_kind and l.priority = p_priority
    order by l.id limit 1;
    exit when found;
    v_job.queue := p_queue;
    v_job.kind := p_kind;
    v_job.priority := p_priority;
    perform windlass._make_lanes(p_tenant, array[v_job]);
  end loop;
  return v_id;
end
$$;
comment on function windlass._lane_of is 'The lane of a queue, kind and priority.';
