"""What the database is made to testify: triggers write down each lease and each end of an attempt.

They are no part of the product.  Their clock is that of the server at the moment of the write, and what they
write commits with what they saw, or not at all.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.chaos.checker import History
from tests.chaos.postgres import Postgres
from tests.chaos.records import read

__all__ = ["collect", "install", "is_quiet"]

_INSTALL = """
create schema evidence;
create table evidence.lease (at timestamptz not null, what text not null, token uuid not null, tenant_id uuid,
  node_id uuid, expires_at timestamptz, claimed_at timestamptz, job_ids uuid[], versions integer[]);
create table evidence.ended (at timestamptz not null, tenant_id uuid, job_id uuid, version integer,
  token uuid, outcome text, ends text, finished_at timestamptz);

create function evidence.note_grant() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into evidence.lease
  select clock_timestamp(), 'grant', n.id, n.tenant_id, n.node_id, n.expires_at, n.claimed_at,
    n.job_ids, n.versions
  from fresh as n;
  return null;
end $$;
create function evidence.note_renewal() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into evidence.lease
  select clock_timestamp(), 'renewal', n.id, n.tenant_id, n.node_id, n.expires_at
  from fresh as n join former as f on f.id = n.id where f.expires_at is distinct from n.expires_at;
  return null;
end $$;
create function evidence.note_end() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into evidence.ended
  select clock_timestamp(), n.tenant_id, n.job_id, n.version, n.token, n.outcome, n.ends, n.finished_at
  from fresh as n;
  return null;
end $$;

create trigger evidence_grant after insert on windlass_data.lease
  referencing new table as fresh for each statement execute function evidence.note_grant();
create trigger evidence_renewal after update on windlass_data.lease
  referencing new table as fresh old table as former
  for each statement execute function evidence.note_renewal();
create trigger evidence_end after insert on windlass_data.attempt
  referencing new table as fresh for each statement execute function evidence.note_end();
"""

_GRANTS = """
select m.job_id, l.tenant_id, m.version, l.token, extract(epoch from l.at)::float8,
       extract(epoch from greatest(l.expires_at, r.expires_at))::float8, l.node_id,
       extract(epoch from l.claimed_at)::float8
from evidence.lease as l
cross join lateral unnest(l.job_ids, l.versions) as m(job_id, version)
left join (
  select r.token, max(r.expires_at) as expires_at from evidence.lease as r
  where r.what = 'renewal' group by r.token
) as r on r.token = l.token
where l.what = 'grant'
"""

_ENDS = """
select e.job_id, e.tenant_id, e.version, e.token, extract(epoch from e.at)::float8, e.outcome, e.ends,
       extract(epoch from e.finished_at)::float8
from evidence.ended as e
"""

# From the tables themselves: who judges the product must not ask it what a state is.
_ROWS = """
select j.id, j.tenant_id, concat_ws(' and ', coalesce(j.ended_state::text, a.ends),
         case when r.job_id is not null then 'queued' end,
         case when s.job_id is not null then 'scheduled' end,
         case when coalesce(j.ended_state::text, a.ends) is null and r.job_id is null and s.job_id is null
              then 'running' end)
from windlass_data.job as j
left join (
  select a.tenant_id, a.job_id, (array_agg(a.ends::text order by a.version desc))[1] as ends
  from windlass_data.attempt as a group by 1, 2
) as a on a.tenant_id = j.tenant_id and a.job_id = j.id
left join windlass_data.ready as r on r.tenant_id = j.tenant_id and r.job_id = j.id
left join windlass_data.scheduled as s on s.tenant_id = j.tenant_id and s.job_id = j.id
"""

_COSTS = """
select c.job_id, c.tenant_id, c.version, c.what, c.cents, extract(epoch from c.at)::float8
from windlass_data.cost as c
"""
_SUMS = """
select s.tenant_id, s.kind, sum(s.entries)::bigint, sum(s.cents)::bigint
from (
  select d.tenant_id, d.kind, d.entries, d.cents from windlass_data.cost_day as d
  union all
  select n.tenant_id, n.kind, n.entries, n.cents from windlass_data.cost_delta as n
) as s group by 1, 2
"""

_BUSY = """
select exists (select from windlass_data.ready) or exists (select from windlass_data.scheduled)
    or exists (select from windlass_data.lease)
"""


def install(server: Postgres) -> None:
    """After the schema, before the first job."""
    with server.connect() as connection:
        connection.execute(_INSTALL.encode())


def collect(server: Postgres, directory: Path) -> History:
    """Everything that is known when all is over."""
    return History(
        calls=list(read(directory / "calls")),
        ledger=list(read(directory / "ledger")),
        grants=list(_records(server, _GRANTS, "job tenant version token at expires_at node claimed_at")),
        ends=list(_records(server, _ENDS, "job tenant version token at outcome ends finished_at")),
        rows=list(_records(server, _ROWS, "job tenant state")),
        limits=list(read(directory / "limits")),
        costs=list(_records(server, _COSTS, "job tenant version entry cents at")),
        sums=list(_records(server, _SUMS, "tenant kind entries cents")),
    )


def _records(server: Postgres, text: str, names: str) -> Iterator[dict[str, Any]]:
    for row in server.ask(text):
        values = [
            value if isinstance(value, (int, float, str)) or value is None else str(value) for value in row
        ]
        yield dict(zip(names.split(), values, strict=True))


def is_quiet(server: Postgres) -> bool:
    """Whether no job waits and none runs."""
    return not server.ask(_BUSY)[0][0]
