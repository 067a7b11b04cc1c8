-- State of where a job stands: the small hot tables.

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
  counted integer[] not null,              -- before this attempt
  begins uuid[],                           -- of the last attempts those that its holder said it begins; null: it does not say
  begun uuid[]                             -- and those of which it said that the handler was called
);
-- Not compressed: for the short life of a lease that costs more than it saves.
alter table windlass_data.lease alter column job_ids set storage external;
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

select windlass_data.wall_off(array['ready', 'scheduled', 'lease', 'cancel_request', 'idempotency_key']);
