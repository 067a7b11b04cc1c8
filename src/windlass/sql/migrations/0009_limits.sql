-- State of limits: what was said, and how much of it is used.

-- One row per scope; a null column of the scope matches everything, a null limit is none.
create table windlass_data.job_limit (
  id integer generated always as identity primary key,
  tenant_id uuid references windlass_data.tenant (id),
  queue text collate "C",
  kind text collate "C",
  concurrency integer check (concurrency >= 0),
  rate integer check (rate > 0),                           -- jobs ...
  rate_seconds double precision check (rate_seconds > 0),  -- ... in this time
  burst integer check (burst > 0),                         -- the most that may start at once
  depth bigint check (depth >= 0),
  budget_cents bigint check (budget_cents >= 0),           -- holds claims once it is spent
  warn_cents bigint check (warn_cents >= 0),               -- is told of once it is spent
  budget_period text check (budget_period in ('hour', 'day', 'week', 'month')),
  reason text not null,
  actor text not null,
  changed_at timestamptz not null,
  claims boolean generated always as (
    concurrency is not null or rate is not null or budget_cents is not null or warn_cents is not null) stored,
  check (num_nulls(rate, rate_seconds, burst) in (0, 3)),
  check ((budget_period is null) = (budget_cents is null and warn_cents is null)),
  check (num_nonnulls(concurrency, rate, depth, budget_period) > 0),
  unique nulls not distinct (tenant_id, queue, kind)
);
create index job_limit_claims on windlass_data.job_limit (id) where claims;

-- How much of a limit is used, as far as that is not counted from the leases.  Whoever claims under a limit holds its
-- row until the commit: claims that share a limit come one after the other, and no others wait.
create table windlass_data.limit_use (
  limit_id integer primary key references windlass_data.job_limit (id) on delete cascade,
  tokens double precision not null default 0,
  filled_at timestamptz not null,
  spent_cents bigint not null default 0,
  spent_from timestamptz not null default '-infinity',     -- the period in which that was spent
  warned boolean not null default false                    -- whether this period's warning was given
) with (fillfactor = 40);

-- Costs under a budget that are not yet in limit_use.  Reporting one waits for nobody: only a claim adds them up.
create table windlass_data.spending (
  limit_id integer not null,
  at timestamptz not null,
  cents bigint not null
);
create index spending_limit on windlass_data.spending (limit_id);

-- The limits on depth.  Without a tenant in it, so that an enqueue sees at a glance that there are none.
create table windlass_data.depth_limit (
  limit_id integer primary key references windlass_data.job_limit (id) on delete cascade
);

-- What runs is counted by tenant, and never by going through the lanes that a tenant ever had.
drop index windlass_data.lease_lane;
create index lease_lane on windlass_data.lease (tenant_id, lane_id);

select windlass_data.wall_off(array['job_limit']);

-- Keys: so many jobs of a kind with one key at a time, in order -----------------------------------------------

alter table windlass_data.job
  add column concurrency_key text collate "C",
  add column concurrency_limit smallint;
alter type windlass_data.new_job add attribute concurrency_key text, add attribute concurrency_limit integer;

-- Every job with a key that has not ended.  Only those whose turn it is (`held`) are let into line; the others are parked
-- in `scheduled`.  A job keeps its turn until it has ended, also while it waits to be tried again: hence the order.
create table windlass_data.key_line (
  tenant_id uuid not null,
  job_id uuid not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  priority smallint not null,
  place bigint,                            -- null: not due yet
  allowed smallint not null,
  held boolean not null,
  primary key (tenant_id, job_id)
);
create index key_line_next on windlass_data.key_line (tenant_id, kind, key, held, priority desc, place);
create index key_line_job on windlass_data.key_line (job_id);
create index key_line_waiting on windlass_data.key_line (tenant_id, job_id) where not held;

-- Keys of which somebody has to look whose turn it is: one came into line, or one ended.  Written without waiting for
-- anybody; looked at by the next claim, one transaction for a key at a time.
create table windlass_data.key_check (
  tenant_id uuid not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  looked bigint                            -- when somebody looked in vain, in the order of looks; null: nobody has
);
create index key_check_looked on windlass_data.key_check (looked) where looked is not null;

select windlass_data.wall_off(array['key_line', 'key_check']);

-- Gates that also send back what runs ------------------------------------------------------------------------

alter table windlass_data.gate add column releases boolean not null default false;

-- Why a job is not running ------------------------------------------------------------------------------------

-- When a lease was last renewed; null: not yet.
alter table windlass_data.lease add column renewed_at timestamptz;

-- The digest of the functions that were installed when a node started: another one now, and it speaks to others than it knows.
alter table windlass_data.node add column code text not null default '';
grant select on windlass_data.schema_version to windlass_engine;

create type windlass_data.reason as (
  code text,
  blocks boolean,                          -- no claim takes the job while this holds
  says text,
  clears text,                             -- what ends it
  clears_at timestamptz,                   -- when, if time does
  details jsonb
);
