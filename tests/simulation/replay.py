"""Says a history again, to PostgreSQL: every answer and every row must be what the core says they are."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import ClientCursor

from tests.simulation.core import Core
from tests.simulation.seen import core_row, real_rows
from tests.simulation.sqlwords import TENANTS, Spoken, at_ms, job_number, job_uuid, moment, node_uuid, speak
from tests.simulation.values import Job
from tests.simulation.words import Claim, Step
from tests.support import Database

__all__ = ["Replay"]

# A setting of the one session that asks instead of the server's clock: to move it writes nothing.
_STOPPED_CLOCK = """
insert into windlass_data.tenant (id, slug, name)
values ('00000000-0000-7000-8000-000000000002', 'other', 'Other') on conflict do nothing;
create or replace function windlass_data.clock() returns timestamptz language sql volatile
as $$ select current_setting('simulation.now', true)::timestamptz $$;
"""
# All of a history in one call: a round trip for each word would cost more than the words.  Each commits.
_REPLAY = """
create temp table known (n integer primary key, token uuid not null unique);
create temp table said (place integer primary key, answer jsonb not null);
create function pg_temp.tokens(p_numbers integer[]) returns uuid[] language sql stable
as $$ select array(select k.token from unnest(p_numbers) with ordinality as u(n, place)
                   left join pg_temp.known as k on k.n = u.n order by u.place) $$;
create procedure pg_temp.replay(p_at text[], p_words text[], p_grants jsonb) language plpgsql as $$
declare
  v_answer jsonb;
begin
  truncate pg_temp.known, pg_temp.said;
  for i in 1..cardinality(p_words) loop
    perform set_config('simulation.now', p_at[i], false);
    begin
      execute p_words[i] into v_answer;
    exception when others then
      v_answer := to_jsonb('refused: ' || sqlstate);
    end;
    if p_grants ? i::text and jsonb_typeof(v_answer) = 'array' then
      insert into pg_temp.known
      select (p_grants -> (i::text) ->> (row ->> 0))::integer, (row ->> 1)::uuid
      from jsonb_array_elements(v_answer) as row
      where p_grants -> (i::text) ? (row ->> 0)
      on conflict do nothing;
    end if;
    insert into pg_temp.said values (i, v_answer);
    commit;
  end loop;
end $$;
"""
_TABLES = (
    *("job", "attempt", "ready", "scheduled", "lease", "cancel_request", "idempotency_key", "gate"),
    *("event", "unsealed", "seal", "chain", "waiting"),
)
_ATTEMPTS = """
select job_id, version, counted, token::text, node_id, started_at, finished_at, outcome::text, ends::text,
       result, error ->> 'type' as error
from windlass_data.attempt where job_id = any (%s::uuid[]) order by job_id, version
"""


class Replay:
    """One database for many histories, emptied before each."""

    def __init__(self, db: Database) -> None:
        self._session = db.connect()
        self._session.execute(_REPLAY.encode())
        self._quoting = ClientCursor(self._session)
        self._superuser = db.connect("superuser")
        self._superuser.execute(_STOPPED_CLOCK.encode())
        self._superuser.execute("set session_replication_role = replica")  # else no event could be removed

    def differences(self, trace: Sequence[Step], core: Core) -> list[str]:
        """What PostgreSQL did otherwise: the first such word, after all that was said before it."""
        self._superuser.execute("; ".join(f"delete from windlass_data.{t}" for t in _TABLES).encode())
        spoken = [speak(step.word) for step in trace]
        answers = self._say(trace, spoken)
        known = self._session.execute("select token::text, n from pg_temp.known").fetchall()
        tokens = {row.token: row.n for row in known}
        for place, (step, one, answer) in enumerate(zip(trace, spoken, answers, strict=True)):
            heard = answer if isinstance(answer, str) else one.read(answer, tokens)
            if heard != _plain(step.answer):
                said = [f"{one.at}: {one.word} -> {one.answer}" for one in trace[: place + 1]]
                return [*said, f"PostgreSQL answered {heard}"]
        return self._rows(tokens, core)

    def _say(self, trace: Sequence[Step], spoken: Sequence[Spoken]) -> list[Any]:
        texts = [self._quoting.mogrify(one.text.encode(), one.parameters) for one in spoken]
        grants = {
            place: {str(job_uuid(job)): token for job, token, *_ in step.answer}
            for place, step in enumerate(trace, 1)
            if isinstance(step.word, Claim)
        }
        times = [str(moment(step.at)) for step in trace]
        self._session.execute("call pg_temp.replay(%s, %s, %s)", [times, texts, json.dumps(grants)])
        rows = self._session.execute("select answer from pg_temp.said order by place").fetchall()
        return [answer for (answer,) in rows]

    def _rows(self, tokens: Mapping[str, int], core: Core) -> list[str]:
        ids = [job_uuid(number) for number in core.jobs]
        real = {number: real_rows(self._superuser, tenant, ids) for number, tenant in TENANTS.items()}
        (there,) = self._superuser.execute("select count(*) from windlass_data.job").fetchall()[0]
        attempts: dict[int, list[Any]] = {number: [] for number in core.jobs}
        for row in self._superuser.execute(_ATTEMPTS, [ids]):
            times = map(at_ms, row[5:7])
            facts = (*row[1:3], tokens.get(row.token), row.node_id, *times, *row[7:])
            attempts[job_number(row.job_id)].append(facts)
        found = [] if there == len(ids) else [f"PostgreSQL has {there} jobs, the core {len(ids)}"]
        return found + [
            f"job {number}: PostgreSQL has {theirs}, the core {ours}"
            for number, job in core.jobs.items()
            for theirs, ours in (
                (real[job.tenant].get(job_uuid(number)), core_row(core, job)),
                (attempts[number], _attempts(job)),
            )
            if theirs != ours
        ]


def _plain(answer: Any) -> Any:
    """Without the names of fields, as rows of a driver are compared."""
    return [tuple(one) for one in answer] if isinstance(answer, list) else answer


def _attempts(job: Job) -> list[tuple[Any, ...]]:
    return [
        (
            *(a.version, a.counted, a.token, node_uuid(a.node), a.started_at, a.finished_at),
            *(a.outcome, a.ends, a.result, a.error),
        )
        for a in job.attempts
    ]
