-- Whether a node counts as alive: not stopped, and heard of within three heartbeats of ten seconds.
-- definer: none
create function windlass._is_active(p_heartbeat_at timestamptz, p_stopped_at timestamptz) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select p_stopped_at is null and p_heartbeat_at > windlass_data.clock() - interval '30 s'
$$;
comment on function windlass._is_active is 'Whether a node counts as alive.';
