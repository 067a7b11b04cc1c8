-- Say of running jobs that their handlers were called; with p_called false, that they are about to be.  Returns only the
-- words that were refused, as lease_lost: those jobs must not be begun.
--
-- For a worker that claimed with p_begins: it may hold jobs that it has not begun, and of those on their last attempt it
-- says here what it does.  What it did not begin before it died is given back instead of given up (see _end_abandoned).
-- Of a lease that was claimed without, nothing is written: there every attempt has begun.  To say the same again changes
-- nothing.  Locks the leases only.
-- definer: engine
-- grant: worker
create function windlass.begin_jobs(p_tokens uuid[], p_jobs uuid[], p_called boolean[] default null)
returns table (token uuid, job_id uuid, code text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
declare
  v_open bigint[];
begin
  perform windlass._check_words(p_tokens, p_jobs, null, null);
  if cardinality(p_called) <> cardinality(p_jobs) or array_ndims(p_called) > 1 or array_position(p_called, null) is not null then
    raise exception 'every job was called or is about to be, or nothing is said of that' using errcode = 'WL007';
  end if;
  perform windlass._lock_leases(p_tokens);
  v_open := windlass._open_words(p_tokens, p_jobs);
  update windlass_data.lease as l
  set begins = l.begins || s.near, begun = coalesce(l.begun, '{}') || s.called
  from (
    select h.place, s.near, s.called
    from (
      select p_tokens[o] as token, coalesce(array_agg(p_jobs[o]) filter (where not p_called[o]), '{}') as near,
             coalesce(array_agg(p_jobs[o]) filter (where p_called is null or p_called[o]), '{}') as called
      from unnest(v_open) as o group by p_tokens[o]
    ) as s
    cross join lateral (select h.ctid as place from windlass_data.lease as h where h.id = s.token offset 0) as h
    offset 0  -- the leases are locked, so they stay where they are
  ) as s
  where l.ctid = s.place and l.begins is not null
    and not (l.begins @> s.near and coalesce(l.begun, '{}') @> s.called);
  return query
  select s.token, s.job_id, 'lease_lost'
  from unnest(p_tokens, p_jobs) as s(token, job_id)
  where not exists (select from unnest(v_open) as o where p_tokens[o] = s.token and p_jobs[o] = s.job_id);
end
$$;
comment on function windlass.begin_jobs is 'Say which running jobs are begun; returns the words that were refused.';
