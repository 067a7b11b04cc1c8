-- Refuse costs that are not one token, job, amount and purpose each.
-- definer: none
create function windlass._check_costs(
  p_tokens uuid[], p_jobs uuid[], p_cents bigint[], p_whats text[], p_ids uuid[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform windlass._check_words(p_tokens, p_jobs, null, p_cents);
  if p_cents is null or array_ndims(p_cents) > 1 or array_position(p_cents, null) is not null then
    raise exception 'every cost needs its cents' using errcode = 'WL007';
  elsif p_whats is null or cardinality(p_whats) <> cardinality(p_jobs) or exists (
    select from unnest(p_whats) as w where w is null or btrim(w) = '' or length(w) > 200
  ) then
    raise exception 'every cost needs to say what it is for, in 1 to 200 characters' using errcode = 'WL007';
  elsif cardinality(p_ids) <> cardinality(p_jobs) or array_ndims(p_ids) > 1
     or array_position(p_ids, null) is not null then
    raise exception 'every cost needs its own id, or none has one' using errcode = 'WL007';
  elsif cardinality(p_jobs) > 10000 then
    raise exception 'at most 10000 costs are reported at a time' using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._check_costs is 'Refuse malformed costs.';
