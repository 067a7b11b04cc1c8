-- State of redrives that run as jobs: what each is to revive, and how far it has come.
--
-- A redrive has the id of its job.  Its row is changed only by the holder of that job's lease, slice by slice, and by
-- whoever stops it.

create table windlass_data.redrive (
  tenant_id uuid not null,
  id uuid not null,
  -- Which dead jobs; null passes everything.
  kinds text[],
  queues text[],
  error_like text,
  died_from timestamptz,
  died_to timestamptz,
  jobs uuid[],
  -- What becomes of them, and how fast.
  patch jsonb,
  max_attempts smallint,
  throttle double precision,               -- jobs per second; null: as fast as it goes
  stop_rate double precision,              -- the share of deaths among those that ended at which it stops; null: never
  stop_after integer not null default 20,  -- of so many that ended at least
  expected bigint,                         -- what a dry run had counted, for those who watch
  actor text not null,
  reason text,
  created_at timestamptz not null,
  -- How far it is.
  cursor uuid not null default '00000000-0000-0000-0000-000000000000',   -- all dead jobs up to this one are dealt with
  watched uuid not null default '00000000-0000-0000-0000-000000000000',  -- where the next look at the revived ones begins
  next_at timestamptz,                     -- not before, because of the throttle
  matched bigint not null default 0,
  redriven bigint not null default 0,
  refused bigint not null default 0,       -- the patched payload does not fit
  passed bigint not null default 0,        -- no longer dead, or the idempotency key is taken
  ended bigint not null default 0,         -- of those redriven, as far as they are watched
  died bigint not null default 0,
  refusals jsonb not null default '[]',    -- the first few, with the reason
  outcome text check (outcome in ('done', 'stopped')),
  stop_reason text,
  ended_at timestamptz,
  primary key (tenant_id, id)
);

-- The jobs that a redrive with a stop_rate has revived and that have not ended since.
create table windlass_data.redriven (
  tenant_id uuid not null,
  redrive_id uuid not null,
  job_id uuid not null,
  version integer not null,                -- of the attempt in which it had died
  primary key (tenant_id, redrive_id, job_id)
);

select windlass_data.wall_off(array['redrive', 'redriven']);
grant select, insert, update, delete on windlass_data.redrive, windlass_data.redriven to windlass_engine;
