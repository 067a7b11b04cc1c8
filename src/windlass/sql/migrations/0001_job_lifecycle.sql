-- State of the job lifecycle.
--
-- A job row is written once.  Where the job stands is told by which of the small hot tables names it:
-- `ready` (claimable now), `scheduled` (not before run_at), `lease` (running), or none of them, and then by
-- its last attempt or by job.ended_state.  Claim and completion therefore never rewrite the job.

create type windlass_data.job_state as enum
  ('blocked', 'queued', 'running', 'succeeded', 'dead', 'canceled', 'skipped');
create type windlass_data.outcome as enum
  ('succeeded', 'failed', 'timed_out', 'crashed', 'canceled', 'snoozed', 'released', 'skipped');

-- The only clock.  Tests replace this function to move time; nothing reads the clock by another way.
-- No search_path is pinned on this one and on new_id(): a function with a setting cannot be inlined, and these two
-- are called for every row.  All their names are qualified instead.
create function windlass_data.clock() returns timestamptz
language sql volatile parallel safe
as 'select pg_catalog.clock_timestamp()';
comment on function windlass_data.clock() is 'The time, as every decision of Windlass sees it.';

-- UUID version 7: time-ordered, so that new rows lie together.  Built in from PostgreSQL 18 on; the one made here
-- for older servers is ordered to the millisecond.
do $new_id$
begin
  if exists (select from pg_catalog.pg_proc where proname = 'uuidv7' and pronamespace = 'pg_catalog'::regnamespace) then
    execute $sql$
      create function windlass_data.new_id() returns uuid
      language sql volatile parallel safe
      as 'select pg_catalog.uuidv7()' $sql$;
  else
    execute $sql$
      create function windlass_data.new_id() returns uuid
      language sql volatile parallel safe
      as $body$
        select pg_catalog.encode(
          pg_catalog.set_bit(pg_catalog.set_bit(pg_catalog.overlay(
            pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
            pg_catalog.substring(pg_catalog.int8send(
              pg_catalog.int8(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000)), 3),
            1, 6), 52, 1), 53, 1),
          'hex')::pg_catalog.uuid
      $body$ $sql$;
  end if;
end
$new_id$;
comment on function windlass_data.new_id() is 'A time-ordered UUID (version 7).';

-- Tenants ---------------------------------------------------------------------------------------------------

create table windlass_data.tenant (
  id uuid primary key default windlass_data.new_id(),
  slug text collate "C" not null unique check (slug ~ '^[a-z0-9][a-z0-9_-]{0,99}$'),
  name text not null check (length(name) between 1 and 200),
  weight smallint not null default 1 check (weight between 1 and 1000),  -- its share where tenants take turns
  created_at timestamptz not null default windlass_data.clock()
);
-- Most installations weigh all tenants alike: a claim then sees that in one look, and asks for no tenant's weight.
create index tenant_weight on windlass_data.tenant (id) where weight <> 1;

-- A login role found here acts for this tenant only.
create table windlass_data.role_tenant (
  role_name name primary key,
  tenant_id uuid not null references windlass_data.tenant (id)
);

-- The tenant that the session is bound to, or null: by its login, by the role it switched to, or by a role that either is
-- a member of.  A session with two different bindings belongs to neither: it gets an id that nothing has (the nil id is
-- the installation's).
create function windlass_data.bound_tenant() returns uuid
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
begin
  if not exists (select from windlass_data.role_tenant) then
    return null;
  end if;
  with recursive mine as (
    select r.oid from pg_catalog.pg_roles as r where r.rolname in (session_user, current_setting('role', true)::name)
    union
    select m.roleid from pg_catalog.pg_auth_members as m join mine on m.member = mine.oid
  )
  select array_agg(distinct t.tenant_id) into v_tenants
  from mine
  join pg_catalog.pg_roles as r on r.oid = mine.oid
  join windlass_data.role_tenant as t on t.role_name = r.rolname;
  return case when cardinality(v_tenants) > 1 then 'ffffffff-ffff-ffff-ffff-ffffffffffff' else v_tenants[1] end;
end
$$;
comment on function windlass_data.bound_tenant() is 'The tenant this session is bound to, or null when it is free to name one.';

-- The tenant that row-level security lets through.  Unset, empty, malformed or foreign: null, hence no rows.
create function windlass_data.current_tenant() returns uuid
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_said text := current_setting('windlass.tenant_id', true);
  v_bound uuid := windlass_data.bound_tenant();
begin
  if v_said is null or v_said = '' then
    return v_bound;
  elsif v_said not like '________-____-____-____-____________'
     or translate(lower(v_said), '0123456789abcdef', '') <> '----' then  -- a regular expression would cost as much as all else
    return null;
  elsif v_bound is not null and v_bound <> v_said::uuid then
    return null;
  end if;
  return v_said::uuid;
end
$$;
comment on function windlass_data.current_tenant() is 'The tenant whose rows this transaction may touch, or null.';

-- Row-level security on these tables: on, forced, and closed to all but the engine and, by tenant, whoever says which.
create function windlass_data.wall_off(p_tables text[], p_by_tenant boolean default true) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table text;
begin
  foreach v_table in array p_tables loop
    execute format('alter table windlass_data.%I enable row level security', v_table);
    execute format('alter table windlass_data.%I force row level security', v_table);
    execute format('create policy engine on windlass_data.%I to windlass_engine using (true) with check (true)', v_table);
    if p_by_tenant then
      execute format(
        'create policy tenant on windlass_data.%I using (tenant_id = (select windlass_data.current_tenant())) '
        'with check (tenant_id = (select windlass_data.current_tenant()))', v_table);
    end if;
  end loop;
end
$$;
comment on function windlass_data.wall_off(text[], boolean) is 'Let row-level security hold these tables.';

-- Queues and lanes ------------------------------------------------------------------------------------------

-- A queue of which something was said.  One without a row is fair: enqueueing writes nothing that tenants share.
create table windlass_data.queue (
  name text collate "C" primary key,
  mode text not null default 'fair' check (mode in ('fair', 'strict')),
  ageing_seconds double precision check (ageing_seconds > 0),  -- waiting this long lifts the priority by one; null: never
  created_at timestamptz not null default windlass_data.clock()
);

-- A lane is one line of waiting jobs: everything that decides whether its head may be claimed (tenant, queue,
-- kind, priority) is the same for all of it.  Lanes are never updated and never removed.  Two of a kind are made where two
-- transactions need a new one at once, and do no harm: a unique key would make the second wait for the first to end.
create table windlass_data.lane (
  id integer generated always as identity primary key,
  tenant_id uuid not null references windlass_data.tenant (id),
  queue text collate "C" not null,
  kind text collate "C" not null,
  priority smallint not null
);
create index lane_of on windlass_data.lane (tenant_id, queue, kind, priority, id);
create index lane_queue on windlass_data.lane (queue, kind);

-- The lanes that may have jobs in line; a claim looks at no others.  Whoever puts a job into line and finds no row for its
-- lane adds one, so a lane may have several: a unique key would make two enqueueing transactions wait for each other.
-- How rows go again without losing a job: see _note_work and retire_lanes.
create table windlass_data.busy_lane (
  lane_id integer not null,
  tenant_id uuid not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  priority smallint not null
);
create index busy_lane_id on windlass_data.busy_lane (lane_id);
create index busy_lane_queue on windlass_data.busy_lane (queue);

-- Jobs and their attempts: time partitions, so that old days are dropped and not deleted ---------------------

create table windlass_data.job (
  tenant_id uuid not null,
  id uuid not null,
  lane_id integer not null,
  seq bigint,                              -- place in `ready`, when it is or was there; null while scheduled
  max_attempts smallint not null,
  timeout_ms integer,
  created_at timestamptz not null,
  run_at timestamptz,                      -- as asked for at enqueue or reschedule
  payload jsonb not null,
  retry jsonb,                             -- null: the default policy
  idempotency_key text collate "C",
  trace_id text,
  correlation_id text,
  actor text,
  ended_state windlass_data.job_state,     -- set only when the job ended outside an attempt
  ended_at timestamptz,
  ended_reason text,
  primary key (tenant_id, id)
) partition by range (id);
create index job_ended on windlass_data.job (tenant_id, ended_state, id) where ended_state is not null;
create index job_correlation on windlass_data.job (tenant_id, correlation_id, id) where correlation_id is not null;

create table windlass_data.attempt (
  tenant_id uuid not null,
  job_id uuid not null,
  version integer not null,
  counted integer not null,                -- attempts that count toward max_attempts, this one included
  node_id uuid not null,
  token uuid not null,                     -- of the lease it ran under
  started_at timestamptz not null,
  finished_at timestamptz not null,
  outcome windlass_data.outcome not null,
  ends windlass_data.job_state,            -- the terminal state this attempt gave its job; null: the job went on
  cost_cents bigint,
  result jsonb,
  error jsonb,
  primary key (tenant_id, job_id, version)
) partition by range (job_id);
-- Succeeded jobs are found by walking the jobs; the rest are few among many and get an index of their own.
create index attempt_ends on windlass_data.attempt (tenant_id, ends, job_id) where ends in ('dead', 'canceled', 'skipped');
create index attempt_finished_at on windlass_data.attempt using brin (finished_at) with (pages_per_range = 32);

-- What falls outside every day: ids made by a clock far off, and rows kept longer than their day.
create table windlass_data.job_rest partition of windlass_data.job default;
create table windlass_data.attempt_rest partition of windlass_data.attempt default;
-- The rest is never dropped, so what goes from it is found by when it ended, past all that is kept for longer.
create index job_rest_ended on windlass_data.job_rest (ended_state, ended_at) where ended_state is not null;
create index attempt_rest_ended on windlass_data.attempt_rest (ends, finished_at) where ends is not null;

-- The smallest id that can be made at a moment: where a day's partition begins.
create function windlass_data.first_id(p_at timestamptz) returns uuid
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select (lpad(to_hex((extract(epoch from p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
comment on function windlass_data.first_id(timestamptz) is 'The smallest UUIDv7 of a moment.';

-- Make the partitions of one day (UTC).  A child is reached through its parent only: its own row-level security
-- has no tenant policy, so that a direct read finds nothing.  Returns false where the day is there already, or
-- where the rest already holds rows of it (nobody made it in time): they stay there, nothing is lost.
create function windlass_data.add_day(p_day date) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from uuid := windlass_data.first_id(p_day::timestamp at time zone 'UTC');
  v_to uuid := windlass_data.first_id((p_day + 1)::timestamp at time zone 'UTC');
  v_parent text;
  v_child text;
begin
  if to_regclass('windlass_data.job_' || to_char(p_day, 'YYYYMMDD')) is not null then
    return false;
  end if;
  foreach v_parent in array array['job', 'attempt'] loop
    v_child := v_parent || '_' || to_char(p_day, 'YYYYMMDD');
    execute format('create table windlass_data.%I partition of windlass_data.%I for values from (%L) to (%L)',
                   v_child, v_parent, v_from, v_to);
    perform windlass_data.wall_off(array[v_child], p_by_tenant => false);
  end loop;
  return true;
exception
  when check_violation or duplicate_table then
    return false;
end
$$;
comment on function windlass_data.add_day(date) is 'Make the partitions of one day, if they can still be made.';

-- One job as an enqueue describes it.  A null field takes its default.
create type windlass_data.new_job as (
  id uuid,
  kind text,
  payload jsonb,
  queue text,
  priority integer,
  run_at timestamptz,
  max_attempts integer,
  retry jsonb,
  timeout_ms integer,
  key text,
  scope text,
  trace_id text,
  correlation_id text
);

-- Hot tables ------------------------------------------------------------------------------------------------

-- Row present = claimable now.  Never updated: inserted at the back of its lane, deleted by the claim.
create table windlass_data.ready (
  lane_id integer not null,
  version integer not null,                -- claims so far
  seq bigint not null,
  tenant_id uuid not null,
  job_id uuid not null,
  counted integer not null,
  primary key (lane_id, seq)
);
create sequence windlass_data.ready_seq as bigint cache 1;

create table windlass_data.scheduled (
  tenant_id uuid not null,
  job_id uuid not null,
  run_at timestamptz not null,
  lane_id integer not null,
  version integer not null,
  counted integer not null,
  primary key (tenant_id, job_id)
);
create index scheduled_run_at on windlass_data.scheduled (run_at);
create index scheduled_due on windlass_data.scheduled (lane_id, run_at);
create index scheduled_lane on windlass_data.scheduled (lane_id, job_id);

-- One row per claim and lane; its id is the token.  A job of it is running until its attempt (job, version) is
-- written: that key, not this row, decides between a late word and the reaper.
create table windlass_data.lease (
  id uuid primary key,
  tenant_id uuid not null,
  lane_id integer not null,
  node_id uuid not null,
  claimed_at timestamptz not null,
  expires_at timestamptz not null,
  open integer not null check (open > 0),  -- jobs of it that have no attempt yet
  job_ids uuid[] not null,
  versions integer[] not null,
  counted integer[] not null               -- before this attempt
);
create index lease_expires_at on windlass_data.lease (expires_at);
create index lease_lane on windlass_data.lease (lane_id);

create table windlass_data.cancel_request (
  tenant_id uuid not null,
  job_id uuid not null,
  requested_at timestamptz not null,
  actor text,
  reason text,
  primary key (tenant_id, job_id)
);

create table windlass_data.idempotency_key (
  tenant_id uuid not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  job_id uuid not null,
  primary key (tenant_id, kind, key)
);
create index idempotency_key_job on windlass_data.idempotency_key (tenant_id, job_id);

-- Operation -------------------------------------------------------------------------------------------------

-- A pause.  A null column matches everything.
create table windlass_data.gate (
  id uuid primary key default windlass_data.new_id(),
  tenant_id uuid references windlass_data.tenant (id),
  queue text collate "C",
  kind text collate "C",
  node text collate "C",
  reason text not null,
  actor text not null,
  created_at timestamptz not null default windlass_data.clock(),
  expires_at timestamptz,
  unique nulls not distinct (tenant_id, queue, kind, node)
);

create table windlass_data.node (
  id uuid primary key,
  name text not null,
  host text not null,
  pid integer not null,
  version text not null,
  queues text[] not null,
  kinds text[] not null,
  concurrency integer not null,
  started_at timestamptz not null,
  heartbeat_at timestamptz not null,
  stopped_at timestamptz,
  login name not null default session_user  -- who runs it: a bound role knows its own nodes only
);

-- Nodes that want to be told of new work in a queue.  While a queue has no row here, an enqueue sends no notice.
create table windlass_data.waiting (
  queue text collate "C" not null,
  node_id uuid not null,
  primary key (queue, node_id)
);

-- What people and services did, and why.  The nil tenant stands for the installation itself.
create table windlass_data.event (
  tenant_id uuid not null,
  id uuid not null default windlass_data.new_id(),
  at timestamptz not null,
  actor text not null,
  login name not null default session_user,  -- who it really was, whatever name was given as the actor
  action text not null,
  job_id uuid,
  reason text,
  details jsonb,
  primary key (tenant_id, id)
);
create index event_job on windlass_data.event (tenant_id, job_id) where job_id is not null;

-- Row-level security: on, forced, and closed unless the transaction says which tenant ------------------------

select windlass_data.wall_off(array[
  'lane', 'busy_lane', 'job', 'attempt', 'ready', 'scheduled', 'lease', 'cancel_request', 'idempotency_key', 'gate', 'event']);
select windlass_data.wall_off(array['role_tenant', 'tenant', 'job_rest', 'attempt_rest'], p_by_tenant => false);
create policy tenant on windlass_data.tenant
  using (id = (select windlass_data.current_tenant())) with check (id = (select windlass_data.current_tenant()));
-- The binding is what current_tenant() itself reads, so it cannot hide behind it; no role but these two reads it.
create policy owner on windlass_data.role_tenant to windlass_owner using (true) with check (false);

grant usage on schema windlass_data to windlass_engine;
grant select, insert, update, delete on all tables in schema windlass_data to windlass_engine;
grant usage, select on all sequences in schema windlass_data to windlass_engine;
alter default privileges in schema windlass_data grant select, insert, update, delete on tables to windlass_engine;
alter default privileges in schema windlass_data grant usage, select on sequences to windlass_engine;
revoke all on all functions in schema windlass_data from public;
grant execute on all functions in schema windlass_data to windlass_engine;
-- A policy runs with the rights of whoever reads the view.
grant usage on schema windlass_data to windlass_producer, windlass_worker, windlass_operator, windlass_reader;
grant execute on function windlass_data.current_tenant(), windlass_data.bound_tenant()
  to windlass_producer, windlass_worker, windlass_operator, windlass_reader;

-- The tenant of those who need no tenants.  Its id is fixed, so that nobody has to look it up.
select set_config('windlass.tenant_id', '00000000-0000-7000-8000-000000000001', true);
insert into windlass_data.tenant (id, slug, name) values ('00000000-0000-7000-8000-000000000001', 'default', 'Default');
select set_config('windlass.tenant_id', '', true);

select windlass_data.add_day((windlass_data.clock() at time zone 'UTC')::date + d) from generate_series(0, 3) as d;
