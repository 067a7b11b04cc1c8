-- Extend the leases of these parts to p_lease_seconds from now.  Returns the tokens that are lost: the part was recovered,
-- finalised with its job, or reported.
-- definer: engine
-- grant: worker
create function windlass.renew_parts(p_tokens uuid[], p_lease_seconds double precision default 10)
returns table (token uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform windlass._require_unbound();
  if p_tokens is null or p_lease_seconds is null or not p_lease_seconds between 0.1 and 86400 then
    raise exception 'a renewal needs tokens, and a lease lasts from 0.1 seconds to a day' using errcode = 'WL007';
  end if;
  update windlass_data.cluster_part as p
  set expires_at = windlass_data.clock() + make_interval(secs => p_lease_seconds)
  where p.token = any (p_tokens) and p.state = 'running';
  return query
  select t.token
  from unnest(p_tokens) as t(token)
  where not exists (
    select from windlass_data.cluster_part as p where p.token = t.token and p.state = 'running');
end
$$;
comment on function windlass.renew_parts is 'Extend the leases of parts; returns the lost ones.';
