-- Refuse a reason or an actor, given or set for the session, that is longer than what the audit keeps.
-- definer: none
create function windlass._check_said(p_reason text, p_actor text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_reason) > 2000 then
    raise exception 'the reason has % characters, and 2000 are the most', length(p_reason) using errcode = 'WL007';
  elsif length(windlass._actor(p_actor)) > 200 then
    raise exception 'the actor has % characters, and 200 are the most', length(windlass._actor(p_actor))
      using errcode = 'WL007';
  end if;
end
$$;
comment on function windlass._check_said(text, text) is 'Refuse a reason or an actor that is too long.';
