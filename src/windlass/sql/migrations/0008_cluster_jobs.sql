-- State of cluster jobs: who takes part, who leads, and each node's part of a job.
--
-- A cluster job is a row in `job` like any other.  Its leader's action is an ordinary attempt, in a queue from which
-- only the leader may claim; until the parts are done the job stands in `scheduled`, out of everybody's reach.

alter table windlass_data.node
  add column address text not null default '',
  add column cluster_kinds text[] not null default '{}',
  add column local_kinds text[] not null default '{}',  -- those of them in which nodes have parts
  add column member_until timestamptz,     -- the lease under which it takes part in cluster jobs
  add column draining_at timestamptz;

-- One row.  A term is begun by whoever finds the lease run out, and never given out again.
create table windlass_data.leader (
  single boolean primary key default true check (single),
  node_id uuid,
  term bigint not null,
  since timestamptz not null,
  expires_at timestamptz not null
);
insert into windlass_data.leader (node_id, term, since, expires_at) values (null, 0, 'epoch', 'epoch');

create table windlass_data.cluster_job (
  tenant_id uuid not null,
  job_id uuid not null,
  term bigint not null,                    -- of the leader that created it
  parts integer not null,
  needed integer not null,                 -- the quorum
  on_timeout text not null check (on_timeout in ('proceed', 'fail', 'wait')),
  on_crash text not null check (on_crash in ('requeue', 'fail')),
  part_max_attempts smallint not null,
  part_retry jsonb,                        -- null: the default policy
  quorum_timeout_ms integer not null,
  deadline_at timestamptz,                 -- null: nothing is left to do when the time is up
  settled_at timestamptz,                  -- when it was decided what follows the parts
  verdict text check (verdict in ('quorum', 'timeout', 'impossible', 'forced')),
  warning text,
  action_term bigint,                      -- the term in which the leader's action last began
  ended_at timestamptz,                    -- when the job had ended and its parts were finalised
  primary key (tenant_id, job_id)
);
create index cluster_job_open on windlass_data.cluster_job (tenant_id, job_id) where ended_at is null;
create index cluster_job_due on windlass_data.cluster_job (deadline_at) where settled_at is null and deadline_at is not null;

create table windlass_data.cluster_part (
  tenant_id uuid not null,
  job_id uuid not null,
  node_id uuid not null,
  node_name text not null,                 -- under which a later life of the node finds it again
  kind text collate "C" not null,
  state text not null default 'queued'
    check (state in ('queued', 'running', 'succeeded', 'failed', 'canceled', 'skipped')),
  version integer not null default 0,      -- claims so far
  counted integer not null default 0,      -- attempts that count toward part_max_attempts
  run_at timestamptz not null,
  token uuid,                              -- of the latest claim; null while it waits
  claimed_at timestamptz,
  expires_at timestamptz,                  -- while it runs
  finished_at timestamptz,
  result jsonb,
  error jsonb,
  primary key (tenant_id, job_id, node_id)
);
create index cluster_part_waiting on windlass_data.cluster_part (node_id, run_at) where state = 'queued';
create index cluster_part_running on windlass_data.cluster_part (expires_at) where state = 'running';
create index cluster_part_unfinished on windlass_data.cluster_part (node_name) where state in ('queued', 'running');
create index cluster_part_token on windlass_data.cluster_part (token) where token is not null;

select windlass_data.wall_off(array['cluster_job', 'cluster_part']);
grant select, insert, update, delete on windlass_data.leader, windlass_data.cluster_job, windlass_data.cluster_part
  to windlass_engine;
