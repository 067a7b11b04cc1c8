-- Take the jobs from p_from to before p_to, and their attempts, out of the time to come.  The caller has locked everybody
-- else out.
-- definer: engine
create function windlass._take_ahead(
  p_from uuid, p_to uuid, out jobs windlass_data.job[], out attempts windlass_data.attempt[])
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  with jobs as (
    delete from windlass_data.job_ahead as j where j.id >= p_from and j.id < p_to returning j.*
  ), attempts as (
    delete from windlass_data.attempt_ahead as a where a.job_id >= p_from and a.job_id < p_to returning a.*
  )
  select array(select j::windlass_data.job from jobs as j), array(select a::windlass_data.attempt from attempts as a)
$$;
comment on function windlass._take_ahead(uuid, uuid) is 'Take jobs out of the time to come.';
