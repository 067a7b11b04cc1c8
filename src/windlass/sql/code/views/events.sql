-- For people with psql: what was done to the jobs of the tenant that the session has set, and which of them died.  How
-- the others ended is told by windlass.attempts; list_events tells all.  Empty while windlass.tenant_id is not set.
-- definer: owner
-- grant: operator, reader
create view windlass.events as
select e.id, e.tenant_id, e.at, e.actor, e.login, e.action, e.job_id, e.reason, e.details
from windlass_data.event as e;
comment on view windlass.events is 'What was done, for the tenant that the session has set.';
