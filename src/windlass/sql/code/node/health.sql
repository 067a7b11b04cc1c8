-- What a doctor asks for, as one document: the server, this session's rights, who holds back vacuum, how full the
-- queue of notices is, and how the tables stand.
--
-- Runs with the caller's own rights, because they decide which sessions it may see; those that it may not see are
-- counted as hidden_sessions.  Snapshots come oldest first.
-- definer: none
-- grant: operator, reader
create function windlass.health() returns jsonb
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select windlass.table_health() || jsonb_build_object(
    'server_version', current_setting('server_version'),
    'server_version_num', current_setting('server_version_num')::integer,
    'session_is_superuser', r.rolsuper,
    'bypassrls', r.rolbypassrls,
    'notification_queue_usage', pg_notification_queue_usage(),
    'hidden_sessions', (
      select count(*) from pg_stat_activity as a
      where a.datname = current_database() and a.pid <> pg_backend_pid() and a.state is null),
    'snapshots', coalesce((
      select jsonb_agg(to_jsonb(h) order by h.xmin_age desc)
      from (
        select h.*
        from (
          select 'session' as holder, a.pid, a.usename::text as usename, a.application_name, a.state,
                 a.xact_start as since, a.query_start,
                 greatest(age(a.backend_xmin), age(a.backend_xid)) as xmin_age
          from pg_stat_activity as a
          where a.datname = current_database() and a.pid <> pg_backend_pid()
            and (a.backend_xmin is not null or a.backend_xid is not null)
          union all
          select 'standby', a.pid, a.usename::text, a.application_name, a.state, null, null, age(a.backend_xmin)
          from pg_stat_activity as a
          where a.backend_type = 'walsender' and a.datname is null and a.backend_xmin is not null
          union all
          select 'prepared transaction', null, p.owner::text, p.gid, 'prepared', p.prepared, null, age(p.transaction)
          from pg_prepared_xacts as p
          where p.database = current_database()
          union all
          select 'replication slot', s.active_pid, null, s.slot_name::text,
                 case when s.active then 'active' else 'inactive' end, null, null, age(s.xmin)
          from pg_replication_slots as s
          where s.xmin is not null
        ) as h
        order by h.xmin_age desc
        limit 10
      ) as h), '[]'))
  from pg_roles as r
  where r.rolname = session_user
$$;
comment on function windlass.health() is 'What a doctor asks for, as one document.';
