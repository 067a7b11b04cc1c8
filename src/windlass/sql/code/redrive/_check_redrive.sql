-- Refuse a redrive that says too little, too much or nothing that could be meant, naming what is wrong with it.
-- definer: none
create function windlass._check_redrive(p_redrive windlass_data.redrive, p_everything boolean) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  r windlass_data.redrive := p_redrive;
  v_named integer := num_nonnulls(r.kinds, r.queues, r.error_like, r.died_from, r.died_to, r.jobs);
  v_why text;
begin
  if not exists (select from windlass_data.tenant as t where t.id = r.tenant_id) then
    raise exception 'there is no tenant %', r.tenant_id using errcode = 'WL001';
  end if;
  v_why := case
    when p_everything is null or p_everything = (v_named > 0)
    then 'needs a filter, or else the word that every dead job is meant'
    when cardinality(r.kinds) not between 1 and 100 or cardinality(r.queues) not between 1 and 100
      or array_ndims(r.kinds) > 1 or array_ndims(r.queues) > 1
      or array_position(r.kinds, null) is not null or array_position(r.queues, null) is not null
    then 'takes 1 to 100 kinds and queues'
    when cardinality(r.jobs) not between 1 and 10000 or array_ndims(r.jobs) > 1 or array_position(r.jobs, null) is not null
    then 'takes 1 to 10000 ids of jobs'
    when length(r.error_like) not between 1 and 200 then 'takes a pattern for the error of 1 to 200 characters'
    when r.error_like ~ '(^|[^\\])(\\\\)*\\$' then 'has a pattern for the error that ends in an escape'
    when r.died_from >= r.died_to then 'begins after it ends: no job died in between'
    when jsonb_typeof(r.patch) <> 'object' then 'takes a patch that is a JSON object'
    when octet_length(r.patch::text) > 8192 then 'takes a patch of at most 8192 bytes'
    when r.patch is not null and cardinality(r.kinds) is distinct from 1
    then 'with a patch is for one kind, whose handler says what fits'
    when not r.throttle between 0.001 and 100000 then 'takes a throttle from 0.001 to 100000 jobs a second'
    when not r.stop_rate between 0 and 1 then 'takes a stop_rate from 0 to 1'
    when r.stop_after is null or r.stop_after not between 1 and 1000000 then 'takes a stop_after from 1 to 1000000'
    when r.expected < 0 then 'expects no less than nothing'
  end;
  if v_why is not null then
    raise exception 'a redrive %', v_why using errcode = 'WL007';
  end if;
  perform windlass._merge_patch('{}', r.patch);  -- one that is nested too deeply fails here, and not later
end
$$;
comment on function windlass._check_redrive is 'Refuse a redrive that cannot be meant.';
