"""One job that two verbs meet on: how it is brought there, and all that can be said about it afterwards."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.sql.steps import DEFAULT_TENANT, Session, Word
from tests.sql.whole import lapse
from tests.support import Database

JOB = UUID("01900000-0000-7000-8000-00000000000a")
SIBLING = UUID("01900000-0000-7000-8000-00000000000b")
NAMES = {JOB: "job", SIBLING: "sibling"}
_TABLES = ("job", "attempt", "ready", "scheduled", "lease", "cancel_request", "idempotency_key", "event")
_AUDIT = ("seal", "unsealed")

# One line per fact.  A request behind a job that has ended is left out: a success never waits for a cancel.
_FACTS = """
with described as materialized (
  select v.*
  from windlass._describe_jobs(%(tenant)s, array(select j.id from windlass_data.job as j)) as v
)
select format('%%s is %%s with %%s of %%s attempts counted, version %%s, priority %%s, %%s', v.id, v.state,
              v.counted, v.max_attempts, v.version, v.priority,
              case when exists (select from windlass_data.ready as r where r.job_id = v.id) then 'in line'
                   when exists (select from windlass_data.scheduled as s where s.job_id = v.id
                                and s.run_at <= windlass_data.clock()) then 'due'
                   when exists (select from windlass_data.scheduled as s where s.job_id = v.id) then 'later'
                   else 'in no line' end) as fact
from described as v
union all
select format('%%s attempt %%s %%s counted %%s ends %%s', a.job_id, a.version, a.outcome, a.counted, a.ends)
from windlass_data.attempt as a
union all
select format('%%s is asked to stop', c.job_id) from windlass_data.cancel_request as c
join described as v on v.id = c.job_id
where v.state = 'running'
union all
select format('%%s runs under a lease that is %%s', m.job_id,
              case when l.expires_at < windlass_data.clock() then 'overdue' else 'good' end)
from windlass_data.lease as l cross join lateral unnest(l.job_ids, l.versions) as m(job_id, version)
where not exists (select from windlass_data.attempt as a where a.job_id = m.job_id and a.version = m.version)
union all
select format('%%s holds key %%s', k.job_id, k.key) from windlass_data.idempotency_key as k
union all
select format('%%s event %%s', e.job_id, e.action) from windlass_data.event as e
"""


@dataclass
class Meeting:
    """A job in one situation, and the word that its holder, or its last holder, would say."""

    db: Database
    jobs: Session
    word: Word = field(default_factory=lambda: Word(UUID(int=0), JOB))
    alone: bool = False

    def arrange(self, situation: str, *, alone: bool = False) -> None:
        """From nothing.  A job that runs shares its lease with another one, unless it is to be alone."""
        self.alone = alone
        self._broom.execute("select pg_temp.sweep()")
        SITUATIONS[situation](self)

    @cached_property
    def _broom(self) -> Connection[Any]:
        gone = "; ".join(f"delete from windlass_data.{table}" for table in (*_TABLES, *_AUDIT))
        conn = unguarded(self.db)
        sweep = f"create function pg_temp.sweep() returns void language plpgsql as $$ begin {gone}; end $$"
        conn.execute(sweep.encode())
        return conn

    def enqueue(self, **fields: Any) -> None:
        self.jobs.enqueue(id=JOB, key="k", scope="active", **{"max_attempts": 3, **fields})

    def claim(self, *, begins: bool = False) -> None:
        row = next(row for row in self.jobs.claim(2, begins=begins) if row.job_id == JOB)
        self.word = Word(row.token, JOB)

    def look(self) -> frozenset[str]:
        """Every fact, by the names of the jobs; what happened twice is told apart from what happened once."""
        rows = self.db.connection("superuser").execute(_FACTS, {"tenant": DEFAULT_TENANT}).fetchall()
        facts = sorted(name(row.fact) for row in rows)
        return frozenset(f"{fact} ({facts[:place].count(fact) + 1})" for place, fact in enumerate(facts))


def unguarded(db: Database) -> Connection[Any]:
    """A session without triggers: the audit refuses to be emptied.  One of its own, as all its plans go."""
    conn = db.connect("superuser")
    conn.execute("set session_replication_role = replica")
    return conn


def name(text: Any) -> str:
    words = str(text)
    for job_id, short in NAMES.items():
        words = words.replace(str(job_id), short)
    return words


def _running(meeting: Meeting, **fields: Any) -> None:
    """Held under a lease that has run out, so that nobody is too early."""
    meeting.enqueue(**fields)
    if not meeting.alone:
        meeting.jobs.enqueue(id=SIBLING)
    meeting.claim()
    lapse(meeting.db)


def _unbegun(meeting: Meeting) -> None:
    """Held for its last attempt by one who says what he begins, and has not said it."""
    meeting.enqueue(max_attempts=1)
    meeting.claim(begins=True)
    lapse(meeting.db)


def _asked(meeting: Meeting) -> None:
    _running(meeting)
    meeting.jobs.cancel(JOB)


def _ready(meeting: Meeting) -> None:
    """In line again after an attempt that was given back: its old token may still be used."""
    meeting.enqueue()
    meeting.claim()
    meeting.jobs.release(meeting.word)


def _later(meeting: Meeting) -> None:
    meeting.enqueue()
    meeting.claim()
    meeting.jobs.fail(meeting.word, delays=[3600])


def _due(meeting: Meeting) -> None:
    _later(meeting)
    meeting.db.execute("update windlass_data.scheduled set run_at = '2000-01-01Z'", role="superuser")


def _dead(meeting: Meeting) -> None:
    meeting.enqueue(max_attempts=1)
    meeting.claim()
    meeting.jobs.fail(meeting.word)


def _succeeded(meeting: Meeting) -> None:
    meeting.enqueue()
    meeting.claim()
    meeting.jobs.complete(meeting.word)


SITUATIONS: dict[str, Callable[[Meeting], None]] = {
    "running": _running,
    "running for the last time": lambda meeting: _running(meeting, max_attempts=1),
    "held and not begun": _unbegun,
    "asked to stop": _asked,
    "ready": _ready,
    "later": _later,
    "due": _due,
    "dead": _dead,
    "succeeded": _succeeded,
}
