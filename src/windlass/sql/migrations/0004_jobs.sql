-- State of jobs and their attempts.
--
-- A job row is written once.  Where the job stands is told by which of the small hot tables names it:
-- `ready` (claimable now), `scheduled` (not before run_at), `lease` (running), or none of them, and then by
-- its last attempt or by job.ended_state.  Claim and completion therefore never rewrite the job.

create type windlass_data.job_state as enum
  ('blocked', 'queued', 'running', 'succeeded', 'dead', 'canceled', 'skipped');
create type windlass_data.outcome as enum
  ('succeeded', 'failed', 'timed_out', 'crashed', 'canceled', 'snoozed', 'released', 'skipped');

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

select windlass_data.wall_off(array['job', 'attempt']);
