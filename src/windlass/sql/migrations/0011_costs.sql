-- State of the cost ledger: every entry, and what entries add up to for a tenant, queue, kind and day.

-- What a handler said that its attempt cost.  Never updated; it goes when its job does.  A cost that came with the outcome
-- stands in the attempt itself and has no entry.
create table windlass_data.cost (
  tenant_id uuid not null,
  job_id uuid not null,
  version integer not null,                -- of the attempt
  id uuid not null,                        -- made by whoever says it, so that the same said again is found
  at timestamptz not null,
  cents bigint not null check (cents between 0 and 1000000000000),
  what text not null check (length(what) between 1 and 200),
  primary key (tenant_id, job_id, version, id)
);
create index cost_job on windlass_data.cost (job_id);
create index cost_at on windlass_data.cost using brin (at) with (pages_per_range = 32);

-- Sums for good: they outlive the jobs.  A day is one of UTC.  As numbers of any size, so that nobody's costs can be too
-- large to be added up.
create table windlass_data.cost_day (
  tenant_id uuid not null,
  day date not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  cents numeric not null,
  entries bigint not null,
  primary key (tenant_id, day, queue, kind)
);

-- What is not yet in those sums.  Whoever reports a cost adds a row here and waits for nobody; fold_costs takes the rows
-- away again.  Whoever reads adds up both, so a sum is exact at every moment.
create table windlass_data.cost_delta (
  tenant_id uuid not null,
  day date not null,
  queue text collate "C" not null,
  kind text collate "C" not null,
  cents numeric not null,
  entries bigint not null
);
create index cost_delta_day on windlass_data.cost_delta (tenant_id, day);

-- Days whose jobs were dropped as a whole, until the entries of those jobs are removed too.
create table windlass_data.dropped_day (
  day date primary key,
  removed_to uuid                          -- jobs up to this one are done with
);

select windlass_data.wall_off(array['cost', 'cost_day', 'cost_delta']);
grant select, insert, update, delete on
  windlass_data.cost, windlass_data.cost_day, windlass_data.cost_delta, windlass_data.dropped_day to windlass_engine;
revoke update on windlass_data.cost, windlass_data.cost_delta from windlass_engine;
