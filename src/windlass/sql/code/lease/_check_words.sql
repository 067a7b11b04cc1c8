-- Refuse words about running jobs that are not one token for each job, or that carry too much.
--
-- The bound is four times what workers allow: written out, a value is longer here than it was sent, and a handler that
-- kept to its limit must not be told afterwards that it did not.
-- definer: none
create function windlass._check_words(p_tokens uuid[], p_jobs uuid[], p_texts jsonb[], p_costs bigint[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size integer;
begin
  if p_tokens is null or p_jobs is null or cardinality(p_tokens) <> cardinality(p_jobs)
     or array_ndims(p_tokens) > 1 or array_ndims(p_jobs) > 1 then
    raise exception 'every job needs its token' using errcode = 'WL007';
  elsif array_position(p_tokens, null) is not null or array_position(p_jobs, null) is not null then
    raise exception 'every job needs its token' using errcode = 'WL007';
  elsif coalesce(cardinality(p_texts), cardinality(p_jobs)) <> cardinality(p_jobs)
     or coalesce(cardinality(p_costs), cardinality(p_jobs)) <> cardinality(p_jobs) then
    raise exception 'every job needs its own result, error and cost, or none has one' using errcode = 'WL007';
  elsif exists (select from unnest(p_costs) as c where c not between 0 and 1000000000000) then
    raise exception 'a cost is from 0 to 10^12 cents' using errcode = 'WL007';
  end if;
  if p_texts is not null then
    select max(octet_length(t::text)) into v_size from unnest(p_texts) as t;
    if v_size > 4194304 then
      raise exception 'a result or error has % bytes, and 4194304 are allowed', v_size using errcode = 'WL007';
    end if;
  end if;
end
$$;
comment on function windlass._check_words is 'Refuse malformed words about running jobs.';
