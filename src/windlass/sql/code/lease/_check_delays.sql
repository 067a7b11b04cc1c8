-- Refuse delays that are negative, not finite or longer than ten years.
-- definer: none
create function windlass._check_delays(p_delays double precision[]) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from unnest(p_delays) as d where not d between 0 and 315360000) then
    raise exception 'a delay is from 0 seconds to ten years' using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._check_delays is 'Refuse delays that make no sense.';
