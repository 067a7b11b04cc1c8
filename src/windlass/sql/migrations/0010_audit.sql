-- State of the audit chain: which place each event has in its tenant's chain, and the hash that ties it to all before it.
--
-- `event` and `seal` only grow.  An event is noted in `unsealed` by the transaction that writes it, and moves from there
-- into `seal`: as that transaction commits, or a little later in bulk.  The nil tenant is the installation.

-- What a row says, as 32 bytes.  The text behind it is a JSON array of texts and nulls, the same on every version of
-- PostgreSQL.  It can never change: every seal holds one.  A column that `event` gets later needs a second form.
create function windlass_data.event_digest(p_event windlass_data.event) returns bytea
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return sha256(convert_to(jsonb_build_array(
    'windlass event 1', p_event.tenant_id::text, p_event.id::text, extract(epoch from p_event.at)::text, p_event.actor,
    p_event.login::text, p_event.action, p_event.job_id::text, p_event.reason, p_event.details::text)::text, 'UTF8'));
end
$$;
comment on function windlass_data.event_digest(windlass_data.event) is 'What an event says, as 32 bytes.';

create function windlass_data.seal_hash(p_before bytea, p_place bigint, p_digest bytea) returns bytea
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return sha256(p_before || int8send(p_place) || p_digest);
end
$$;
comment on function windlass_data.seal_hash(bytea, bigint, bytea) is 'The hash of a place, from the one before it.';

-- Where each chain ends.  Kept apart from the seals, so that it is seen when the last of them are gone.
create table windlass_data.chain (
  tenant_id uuid primary key,
  place bigint not null default 0,
  hash bytea not null default ''
) with (fillfactor = 50);

create table windlass_data.seal (
  tenant_id uuid not null,
  place bigint not null,
  event_id uuid not null,
  digest bytea not null,                   -- of the event, as it was written
  hash bytea not null,
  primary key (tenant_id, place),
  unique (tenant_id, event_id)
);

-- Events that have no place yet.
create table windlass_data.unsealed (
  tenant_id uuid not null,
  event_id uuid not null,
  digest bytea not null,
  at_commit boolean not null default false,  -- its own transaction gives it a place, if it can
  primary key (tenant_id, event_id)
);

create index event_of_job on windlass_data.event (tenant_id, job_id, id) where job_id is not null;
drop index windlass_data.event_job;
create index event_action on windlass_data.event (tenant_id, action, id);

-- The last thing that a transaction does, after all its other locks.  It waits for nobody: see _seal_events.
create function windlass_data.seal_at_commit() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform windlass._seal_events(new.tenant_id, 1000);
  return null;
end
$$;
comment on function windlass_data.seal_at_commit() is 'Give events their places as their transaction commits.';
create constraint trigger seal_at_commit after insert on windlass_data.unsealed
  deferrable initially deferred for each row when (new.at_commit) execute function windlass_data.seal_at_commit();

create function windlass_data.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'the audit is only added to: no row of % is changed or removed', tg_table_name using errcode = 'WL005';
end
$$;
comment on function windlass_data.refuse_change() is 'Refuse every change of what is only added to.';
create trigger append_only before update or delete or truncate on windlass_data.event
  for each statement execute function windlass_data.refuse_change();
create trigger append_only before update or delete or truncate on windlass_data.seal
  for each statement execute function windlass_data.refuse_change();

-- Attempts: many, and written where nobody should wait.  A node's sealer follows: whatever ended in a window of time is listed in
-- a page for each tenant, and an event of the tenant's chain has the digest of that page (see seal_attempts).

-- What an attempt says, as 16 bytes: the first of the SHA-256 of its ids, numbers and times in binary, then the rest as a JSON
-- array of texts and nulls.  A redrive takes a death back, and the events of both tell of it: so death is not in it.
create function windlass_data.attempt_digest(p_attempt windlass_data.attempt) returns bytea
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return substr(sha256(
    uuid_send(p_attempt.tenant_id) || uuid_send(p_attempt.job_id) || int4send(p_attempt.version) || int4send(p_attempt.counted)
    || uuid_send(p_attempt.node_id) || uuid_send(p_attempt.token) || timestamptz_send(p_attempt.started_at)
    || timestamptz_send(p_attempt.finished_at) || convert_to(jsonb_build_array(
      'windlass attempt 1', p_attempt.outcome::text, nullif(p_attempt.ends, 'dead')::text, p_attempt.cost_cents::text,
      p_attempt.result::text, p_attempt.error::text)::text, 'UTF8')), 1, 16);
end
$$;
comment on function windlass_data.attempt_digest(windlass_data.attempt) is 'What an attempt says, as 16 bytes.';

-- 36 bytes for each attempt, in the order of the jobs' ids and the versions: job, version, digest.  Removed once retention
-- has taken all of its attempts.
create table windlass_data.attempt_page (
  tenant_id uuid not null,
  number bigint not null,                  -- of its window
  ended_to timestamptz not null,           -- the end of that
  page bytea not null,
  primary key (tenant_id, number)
);
alter table windlass_data.attempt_page alter column page set storage external;  -- digests do not compress
create index event_attempts on windlass_data.event (tenant_id, ((details ->> 'number')::bigint))
  where action = 'attempts.seal';
create trigger append_only before update or truncate on windlass_data.attempt_page
  for each statement execute function windlass_data.refuse_change();

-- How far that is; one row.
create table windlass_data.sealing (
  sealed_to timestamptz not null default '-infinity',  -- attempts that had ended by then have their pages
  step interval not null default '10 minutes',         -- how long the next window may be
  number bigint not null default 0,                    -- of the last window
  noted_at timestamptz,                                -- at this time ...
  noted_xid xid8,                                      -- ... no transaction had a later number than this
  next_at timestamptz not null default '-infinity',    -- not worth a look before
  swept_tenant uuid,                                   -- the last page of which somebody asked whether it is still needed
  swept_number bigint
);
insert into windlass_data.sealing default values;

-- What was there before.  The owner is held by row-level security, and here must see all tenants.
alter table windlass_data.tenant no force row level security;
alter table windlass_data.event no force row level security;
alter table windlass_data.attempt no force row level security;
insert into windlass_data.chain (tenant_id)
select t.id from windlass_data.tenant as t union all select '00000000-0000-0000-0000-000000000000';
insert into windlass_data.event (tenant_id, at, actor, action, job_id, reason, details)
select a.tenant_id, a.finished_at, case a.outcome when 'crashed' then 'windlass' else a.node_id::text end, 'job.dead', a.job_id,
       left(a.error ->> 'message', 2000), jsonb_strip_nulls(jsonb_build_object(
         'attempt', a.version, 'outcome', a.outcome, 'error', left(a.error ->> 'type', 200), 'cost_cents', a.cost_cents))
from windlass_data.attempt as a
where a.ends = 'dead'
order by a.finished_at;
insert into windlass_data.unsealed (tenant_id, event_id, digest)
select e.tenant_id, e.id, windlass_data.event_digest(e) from windlass_data.event as e;
alter table windlass_data.tenant force row level security;
alter table windlass_data.event force row level security;
alter table windlass_data.attempt force row level security;

select windlass_data.wall_off(array['chain', 'seal', 'unsealed', 'attempt_page']);
revoke all on windlass_data.attempt_page, windlass_data.sealing from windlass_engine, windlass_owner;
grant select, insert, delete on windlass_data.attempt_page to windlass_engine;
grant select, update on windlass_data.sealing to windlass_engine;
revoke all on windlass_data.chain, windlass_data.seal, windlass_data.unsealed, windlass_data.event
  from windlass_engine, windlass_owner;
grant select, insert on windlass_data.event, windlass_data.seal to windlass_engine;
grant select, insert, update on windlass_data.chain to windlass_engine;
grant select, insert, delete on windlass_data.unsealed to windlass_engine;
grant select, insert on windlass_data.event, windlass_data.unsealed to windlass_owner;
grant select on windlass_data.chain, windlass_data.seal, windlass_data.attempt_page to windlass_owner;
revoke all on function windlass_data.event_digest(windlass_data.event), windlass_data.seal_hash(bytea, bigint, bytea),
  windlass_data.seal_at_commit(), windlass_data.refuse_change(),
  windlass_data.attempt_digest(windlass_data.attempt) from public;
