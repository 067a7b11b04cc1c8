-- Where a running job runs, since when, and until when its lease holds.  Who is bound to a tenant hears the names of
-- the nodes only that it runs itself.
-- definer: none
create function windlass._why_running(p_job windlass_data.job, p_until timestamptz, p_now timestamptz)
returns setof windlass_data.reason
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select case when le.expires_at > p_now then 'running' else 'lease_expired' end, true,
         case when le.expires_at > p_now
              then format('it runs on node %s since %s; the lease holds until %s, %s', coalesce(n.shown, le.node_id::text),
                          windlass._shown_time(le.claimed_at), windlass._shown_time(le.expires_at),
                          coalesce('renewed at ' || windlass._shown_time(le.renewed_at), 'not renewed yet'))
              else format('its lease on node %s ran out at %s: the worker died, hung or lost the database',
                          coalesce(n.shown, le.node_id::text), windlass._shown_time(le.expires_at)) end,
         case when le.expires_at > p_now then 'its end' else 'the next look of any node, within a second or so' end,
         case when le.expires_at > p_now then le.expires_at else p_now end,
         jsonb_build_object('node', n.shown, 'node_id', le.node_id, 'since', le.claimed_at, 'until', le.expires_at,
                            'renewed_at', le.renewed_at)
  from windlass_data.lease as le
  left join lateral (
    select n.name as shown from windlass_data.node as n
    where n.id = le.node_id and (windlass_data.bound_tenant() is null or n.login = session_user)
  ) as n on true
  where le.tenant_id = p_job.tenant_id and le.lane_id = p_job.lane_id and p_job.id = any (le.job_ids) and le.expires_at = p_until
  limit 1;
end
$$;
comment on function windlass._why_running is 'Where a running job runs.';
