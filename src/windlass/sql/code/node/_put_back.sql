-- Write jobs and attempts that were taken out of the time to come to where they belong by now.
-- definer: engine
create function windlass._put_back(p_jobs windlass_data.job[], p_attempts windlass_data.attempt[]) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into windlass_data.job select j.* from unnest(p_jobs) as j;
  insert into windlass_data.attempt select a.* from unnest(p_attempts) as a
$$;
comment on function windlass._put_back is 'Write jobs that were taken out of the time to come to where they belong.';
