-- Write down the costs that these words about running attempts bring, of those that can still count; returns the places of
-- these words.  A word without a cost (null) brings none.
--
-- The caller holds the leases.  p_open: the words that count, where the caller knows; null: those whose attempts are held
-- under their tokens and not yet written.
-- definer: none
create function windlass._note_words(
  p_tokens uuid[], p_jobs uuid[], p_cents bigint[], p_whats text[], p_ids uuid[] default null, p_open bigint[] default null)
returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said record;
begin
  select array_agg(h.tenant_id) as tenants, array_agg(h.lane_id) as lanes, array_agg(h.job_id) as jobs,
         array_agg(h.version) as versions, array_agg(s.cents) as cents, array_agg(s.what) as whats,
         array_agg(s.id) as ids, array_agg(s.place) as places
  into v_said
  from unnest(p_tokens, p_jobs, p_cents, p_whats, p_ids) with ordinality as s(token, job_id, cents, what, id, place)
  join windlass._held_jobs(p_tokens) as h on h.token = s.token and h.job_id = s.job_id
  left join lateral (
    select a.version from windlass_data.attempt as a
    where p_open is null and a.tenant_id = h.tenant_id and a.job_id = h.job_id and a.version = h.version
    offset 0
  ) as a on true
  where s.cents is not null and a.version is null and (p_open is null or s.place = any (p_open));
  if v_said.places is not null then
    perform windlass._note_costs(
      v_said.tenants, v_said.lanes, v_said.jobs, v_said.versions, v_said.cents, v_said.whats, v_said.ids);
  end if;
  return v_said.places;
end
$$;
comment on function windlass._note_words is 'Write down the costs that words about running attempts bring.';
