-- Record that retention takes jobs that ended before these times, a state each: who looks for attempts later must know why they
-- are gone.  Rounded up to the hour, so that there is an event for each hour and not for each call.
-- definer: none
create function windlass._note_pruned(p_tenant uuid, p_before jsonb) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant uuid := coalesce(p_tenant, '00000000-0000-0000-0000-000000000000');
  v_to timestamptz := (select max(b.value::timestamptz) from jsonb_each_text(p_before) as b);
begin
  if v_to > windlass._pruned_to(v_tenant) then
    perform windlass._record(v_tenant, 'jobs.prune', null, null, 'windlass', jsonb_build_object(
      'before', date_trunc('hour', v_to, 'UTC') + interval '1 hour'));
  end if;
end
$$;
comment on function windlass._note_pruned(uuid, jsonb) is 'Record up to when retention takes jobs.';
