-- Of these words about running jobs, the places of those that can still count: the first about an attempt that is held
-- under its token and not yet written.
-- definer: none
create function windlass._open_words(p_tokens uuid[], p_jobs uuid[]) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first uuid;
  v_last uuid;
begin
  select r.first, r.last into v_first, v_last from windlass._id_range(p_jobs) as r;
  return array(
    select min(s.place)
    from unnest(p_tokens, p_jobs) with ordinality as s(token, job_id, place)
    join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id
    left join lateral (
      select a.version from windlass_data.attempt as a
      where a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version
        and a.job_id between v_first and v_last
      offset 0
    ) as a on true
    where a.version is null
    group by s.token, s.job_id);
end
$$;
comment on function windlass._open_words(uuid[], uuid[]) is 'The places of those words that can still count.';
