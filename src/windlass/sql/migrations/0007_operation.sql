-- State of operation: what is paused, who runs, who waits to be told of work, and what was done.

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

select windlass_data.wall_off(array['gate', 'event']);
