-- Tell some of the nodes that wait for work in these queues, when this transaction commits: as many as there are jobs,
-- and one more in case the first is dead.
--
-- A notice makes commits queue up behind one lock of the whole server, so it is sent only where a node has said that
-- it waits, and a node that found work says so no longer.  It names the node and nothing else: anybody may listen.
-- A transaction that is to be prepared may send none: with the setting windlass.quiet the poll finds its jobs.
-- p_kinds, p_tenant: only nodes that can run one of these kinds for that tenant, or of which that is not known.
-- definer: none
create function windlass._wake(p_queues text[], p_jobs integer default 1, p_kinds text[] default null, p_tenant uuid default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from windlass_data.waiting as w where w.queue = any (p_queues))
     and current_setting('windlass.quiet', true) is distinct from 'on' then
    perform pg_notify('windlass', w.node_id::text)
    from (
      select w.node_id from windlass_data.waiting as w
      left join windlass_data.node as n on n.id = w.node_id
      where w.queue = any (p_queues)
        and (n.id is null
             or ((p_kinds is null or n.kinds = '{}' or n.kinds && p_kinds)
                 and (p_tenant is null or windlass._may_serve(n.login, p_tenant))))
      group by w.node_id
      order by random()
      limit p_jobs + 1
    ) as w;
  end if;
end
$$;
comment on function windlass._wake is 'Wake nodes that wait for work in these queues.';
