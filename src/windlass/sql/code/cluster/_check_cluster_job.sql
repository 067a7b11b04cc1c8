-- Refuse a cluster job that could never run as asked for, naming the field.
-- definer: none
create function windlass._check_cluster_job(
  p_quorum text, p_quorum_timeout_ms integer, p_on_timeout text, p_on_crash text, p_part_max_attempts integer,
  p_part_retry jsonb) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad record;
begin
  select f.field, f.why into v_bad
  from (values
    ('quorum', case when p_quorum in ('majority', 'all') is not true then 'must be majority or all' end),
    ('quorum_timeout_ms', case when p_quorum_timeout_ms between 1 and 86400000 is not true
                               then 'must be from a millisecond to a day' end),
    ('on_timeout', case when p_on_timeout in ('proceed', 'fail', 'wait') is not true
                        then 'must be proceed, fail or wait' end),
    ('on_crash', case when p_on_crash in ('requeue', 'fail') is not true then 'must be requeue or fail' end),
    ('part_max_attempts', case when p_part_max_attempts between 1 and 32767 is not true
                               then 'must be from 1 to 32767' end),
    ('part_retry', case when p_part_retry is not null then windlass._bad_retry(p_part_retry) end)
  ) as f(field, why)
  where f.why is not null
  limit 1;
  if found then
    raise exception 'the cluster job: % %', v_bad.field, v_bad.why using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._check_cluster_job is 'Refuse a cluster job that could never run as asked for.';
