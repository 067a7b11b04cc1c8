"""One cluster job that two verbs meet on: three nodes, of which `a` leads, and a second life of `b`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.interleavings.meeting import JOB, NAMES, name, unguarded
from tests.sql.steps import DEFAULT_TENANT, Session
from tests.support import Database

KIND = "compact"
QUEUE = "windlass.cluster"
LEASE = 10.0
IDS = {
    name: UUID(f"01900000-0000-7000-8000-0000000000{place}")
    for name, place in (("a", "1a"), ("b", "1b"), ("c", "1c"), ("b2", "2b"))
}
NAMES.update({node_id: name for name, node_id in IDS.items()})

_TABLES = (
    *("job", "attempt", "ready", "scheduled", "lease", "cancel_request", "idempotency_key", "event"),
    *("seal", "unsealed", "cluster_job", "cluster_part", "node", "leader"),
)
_NOBODY_LEADS = "update windlass_data.leader set node_id = null, term = 0, expires_at = 'epoch'"


# A request behind a job that has ended is left out: a success never waits for a cancel.
_FACTS = """
select format('job is %%s with %%s counted, version %%s, %%s', v.state, v.counted, v.version,
              case when exists (select from windlass_data.ready) then 'in line'
                   when exists (select from windlass_data.scheduled) then 'put off'
                   else 'in no line' end) as fact
from windlass._describe_jobs(%(tenant)s, array[%(job)s::uuid]) as v
union all
select format('attempt %%s %%s ends %%s', a.version, a.outcome, a.ends) from windlass_data.attempt as a
union all
select format('%%s holds the action', l.node_id) from windlass_data.lease as l
union all
select format('%%s of %%s needed, verdict %%s, warning %%s, term %%s, closed %%s', c.needed, c.parts,
              c.verdict, c.warning, c.action_term, c.ended_at is not null)
from windlass_data.cluster_job as c
union all
select format('part of %%s is %%s, version %%s, counted %%s, %%s', p.node_id, p.state, p.version, p.counted,
              case when p.expires_at <= windlass_data.clock() then 'overdue' else 'in time' end)
from windlass_data.cluster_part as p
union all
select format('%%s leads in term %%s, %%s', l.node_id, l.term, l.expires_at > windlass_data.clock())
from windlass_data.leader as l
union all
select format('%%s is a member: %%s', n.id,
              (n.stopped_at is null and n.member_until > windlass_data.clock()) is true)
from windlass_data.node as n
union all
select 'asked to stop' from windlass_data.cancel_request as c
cross join lateral windlass._describe_jobs(%(tenant)s, array[c.job_id]) as v
where v.state = 'running'
union all
select format('event %%s', e.action) from windlass_data.event as e
"""


@dataclass
class ClusterMeeting:
    """A cluster job in one situation, and the tokens that were given out."""

    db: Database
    jobs: Session
    tokens: dict[str, UUID] = field(default_factory=dict)
    _kept: dict[str, dict[str, UUID]] = field(default_factory=dict)

    def arrange(self, situation: str, *, alone: bool = False) -> None:
        """From nothing the first time; afterwards from the rows that were kept then."""
        gone = [f"delete from windlass_data.{table}" for table in _TABLES]
        shelf = f"kept_{list(SITUATIONS).index(situation)}"
        if situation in self._kept:
            back = [f"insert into windlass_data.{t} select * from {shelf}.{t}" for t in _TABLES]
            self._broom.execute("; ".join((*gone, *back)).encode())
        else:
            self._broom.execute("; ".join((*gone[:-1], _NOBODY_LEADS)).encode())
            self.tokens = {}
            for node in ("a", "b", "c"):
                self.start(node)
                self.tend(node)
            SITUATIONS[situation](self)
            copies = [f"create table {shelf}.{t} as select * from windlass_data.{t}" for t in _TABLES]
            self._broom.execute("; ".join((f"create schema {shelf}", *copies)).encode())
            self._kept[situation] = dict(self.tokens)
        self.tokens = dict(self._kept[situation])

    @cached_property
    def _broom(self) -> Connection[Any]:
        return unguarded(self.db)

    def start(self, node: str, session: Session | None = None) -> None:
        given = (IDS[node], node[:1], [KIND])
        (session or self.jobs).call("select windlass.heartbeat_node(%s, %s, p_kinds => %s)", *given)

    def tend(self, node: str, session: Session | None = None) -> list[Any]:
        query = "select leader_id, term, leads, parts from windlass.tend_cluster(%s, '', %s, %s)"
        return (session or self.jobs).call(query, IDS[node], [KIND], LEASE)

    def create(self, **more: Any) -> None:
        self.jobs.call(
            "select windlass.create_cluster_job(%s, %s, p_leader => %s, p_id => %s, p_on_timeout => %s,"
            " p_max_attempts => 2, p_part_max_attempts => 2, p_part_retry => %s)",
            *(DEFAULT_TENANT, KIND, IDS["a"], JOB, more.get("policy", "wait"), '{"base": 0}'),
        )

    def claim_part(self, node: str, session: Session | None = None) -> list[Any]:
        query = "select version, token from windlass.claim_parts(%s, %s, 5, %s)"
        return self._keep(node, (session or self.jobs).call(query, IDS[node], [KIND], LEASE))

    def end_part(self, node: str, outcome: str, session: Session | None = None) -> list[str]:
        query = "select code, state from windlass.end_parts(array[%s]::uuid[], array[%s]::uuid[], array[%s])"
        token = self.tokens.get(node, UUID(int=0))
        rows = (session or self.jobs).call(query, token, JOB, outcome)
        return [f"{row.code} {row.state}" for row in rows]

    def claim_action(self, node: str, session: Session | None = None) -> list[str]:
        query = "select version, token from windlass.claim_jobs(%s, array[%s], array[%s])"
        return self._keep("action", (session or self.jobs).call(query, IDS[node], QUEUE, KIND))

    def _keep(self, whose: str, rows: list[Any]) -> list[str]:
        """Of several tokens for one thing the first is used: the others come too late to be arranged."""
        for row in rows:
            self.tokens.setdefault(whose, row.token)
        return [f"version {row.version}" for row in rows]

    def say(self, query: str, session: Session | None = None) -> list[Any]:
        """A word about the action, by whoever holds it or held it last."""
        token = self.tokens.get("action", UUID(int=0))
        return (session or self.jobs).call(query, token, JOB)

    def look(self) -> frozenset[str]:
        given = {"tenant": DEFAULT_TENANT, "job": JOB}
        rows = self.db.connection("superuser").execute(_FACTS, given).fetchall()
        facts = sorted(name(row.fact) for row in rows)
        return frozenset(f"{fact} ({facts[:place].count(fact) + 1})" for place, fact in enumerate(facts))

    def lapse(self, table: str, condition: str = "true") -> None:
        column = "member_until" if table == "node" else "expires_at"
        self.db.execute(
            f"update windlass_data.{table} set {column} = windlass_data.clock() - interval '1 s' "
            f"where {condition}",
            role="superuser",
        )


def _part_waits(meeting: ClusterMeeting) -> None:
    """One more success is needed."""
    meeting.create()
    meeting.claim_part("a")
    meeting.end_part("a", "succeeded")


def _parts_run(meeting: ClusterMeeting) -> None:
    """Of two that run, under leases that are over, both are needed."""
    meeting.create()
    meeting.claim_part("b")
    meeting.claim_part("c")
    meeting.lapse("cluster_part", "state = 'running'")


def _time_is_up(meeting: ClusterMeeting) -> None:
    meeting.create(policy="proceed")
    meeting.claim_part("b")
    meeting.db.execute(
        "update windlass_data.cluster_job set deadline_at = windlass_data.clock()", role="superuser"
    )


def _action_waits(meeting: ClusterMeeting) -> None:
    _part_waits(meeting)
    meeting.claim_part("c")
    meeting.claim_part("b")
    meeting.end_part("b", "succeeded")


def _action_runs(meeting: ClusterMeeting) -> None:
    """Begun, under a lease that is over, as that of its leader is."""
    _action_waits(meeting)
    meeting.claim_action("a")
    meeting.say("select windlass.begin_action(%s, %s)")
    meeting.lapse("lease")
    meeting.lapse("leader")


def _another_leads(meeting: ClusterMeeting) -> None:
    """The last leader's action was claimed, and has neither begun nor ended."""
    _action_waits(meeting)
    meeting.claim_action("a")
    meeting.lapse("leader")
    meeting.tend("c")


def _node_died(meeting: ClusterMeeting) -> None:
    """Its part runs under a lease that lasts; it was started again."""
    _part_waits(meeting)
    meeting.claim_part("b")
    meeting.lapse("node", "name = 'b'")
    meeting.start("b2")


def _two_lives(meeting: ClusterMeeting) -> None:
    """Both have a part of the job."""
    meeting.start("b2")
    meeting.tend("b2")
    _part_waits(meeting)
    meeting.claim_part("b")
    meeting.lapse("node", f"id = '{IDS['b']}'")


def _job_is_over(meeting: ClusterMeeting) -> None:
    """Canceled, with a part that runs and one that waits."""
    meeting.create()
    meeting.claim_part("c")
    meeting.jobs.cancel(JOB)


SITUATIONS: dict[str, Callable[[ClusterMeeting], None]] = {
    "a part waits": _part_waits,
    "parts run": _parts_run,
    "the time is up": _time_is_up,
    "the action waits": _action_waits,
    "the action runs": _action_runs,
    "another leads": _another_leads,
    "a node died": _node_died,
    "two lives": _two_lives,
    "the job is over": _job_is_over,
}
