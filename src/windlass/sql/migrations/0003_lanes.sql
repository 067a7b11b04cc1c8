-- State of queues and lanes: in which lines jobs wait.

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

select windlass_data.wall_off(array['lane', 'busy_lane']);
