-- Who is acting: the name given, else the transaction's windlass.actor, else the login role.
-- definer: none
create function windlass._actor(p_actor text default null) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(nullif(p_actor, ''), nullif(current_setting('windlass.actor', true), ''), session_user::text)
$$;
comment on function windlass._actor(text) is 'The name under which an action is recorded.';
