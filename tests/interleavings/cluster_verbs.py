"""Every verb of a cluster that can meet another on one of its jobs, and what may stop it on its way."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from tests.interleavings.cluster_meeting import IDS, ClusterMeeting
from tests.interleavings.meeting import JOB, name
from tests.interleavings.verbs import Verb
from tests.sql.steps import Session

_TURNS = 3
"""What one turn leaves to the next, such as an election, is then done."""


def _turn(node: str) -> Verb:
    def say(session: Session, meeting: ClusterMeeting, mine: UUID) -> list[str]:
        rows: list[Any] = []
        for _ in range(_TURNS):
            rows = meeting.tend(node, session)
        return [f"{name(row.leader_id)} leads in {row.term}, {row.parts} parts wait" for row in rows]

    return Verb(say, passes=True, latest=True)


def _end(node: str, outcome: str) -> Verb:
    return Verb(lambda session, meeting, mine: meeting.end_part(node, outcome, session))


def _renew(node: str) -> Callable[[Session, ClusterMeeting, UUID], str]:
    def say(session: Session, meeting: ClusterMeeting, mine: UUID) -> str:
        query = "select token from windlass.renew_parts(array[%s]::uuid[], 10)"
        return "lost" if session.call(query, meeting.tokens.get(node, UUID(int=0))) else "kept"

    return say


def _codes(query: str) -> Verb:
    def say(session: Session, meeting: ClusterMeeting, mine: UUID) -> list[str]:
        return [str(row.code) for row in meeting.say(query, session)]

    return Verb(say)


def _begin(session: Session, meeting: ClusterMeeting, mine: UUID) -> str:
    (row,) = meeting.say("select term, verdict from windlass.begin_action(%s, %s)", session)
    return f"term {row.term}, {row.verdict}"


def _hurry(session: Session, meeting: ClusterMeeting, mine: UUID) -> str:
    session.call("select windlass.reschedule_job(%s, %s)", session.tenant, JOB)
    return "ok"


def _stop(node: str) -> Verb:
    def say(session: Session, meeting: ClusterMeeting, mine: UUID) -> bool:
        return bool(session.value("select windlass.stop_node(%s)", IDS[node]))

    return Verb(say)


VERBS: Mapping[str, Verb] = {
    "claim part": Verb(lambda session, meeting, mine: meeting.claim_part("b", session), passes=True),
    "renew part": Verb(_renew("b")),
    "renew another part": Verb(_renew("c")),
    "end part": _end("b", "succeeded"),
    "fail part": _end("b", "failed"),
    "end another part": _end("c", "succeeded"),
    "turn of a": _turn("a"),
    "turn of c": _turn("c"),
    "turn of b again": _turn("b2"),
    "claim action": Verb(lambda session, meeting, mine: meeting.claim_action("a", session), passes=True),
    "begin action": Verb(_begin),
    "complete action": _codes(
        "select code from windlass.complete_jobs(array[%s]::uuid[], array[%s]::uuid[])"
    ),
    "fail action": _codes("select code from windlass.fail_jobs(array[%s]::uuid[], array[%s]::uuid[])"),
    "expire": Verb(lambda session, meeting, mine: [state for _, state in session.expire()], passes=True),
    "cancel": Verb(lambda session, meeting, mine: session.cancel(JOB)),
    "hurry": Verb(_hurry),
    "stop a": _stop("a"),
    "stop b": _stop("b"),
    "stop c": _stop("c"),
}

# Where they can meet.
MEET: Mapping[str, tuple[str, ...]] = {
    "a part waits": ("claim part", "turn of a", "cancel", "hurry", "stop b", "claim action"),
    "parts run": (
        *(
            "renew part",
            "end part",
            "fail part",
            "end another part",
            "turn of a",
            "claim part",
            "cancel",
            "hurry",
        ),
    ),
    "the time is up": ("end part", "turn of a", "turn of c", "cancel", "hurry", "claim action", "stop a"),
    "the action waits": ("claim action", "turn of a", "cancel", "stop a", "end another part"),
    "the action runs": (
        *(
            "begin action",
            "complete action",
            "fail action",
            "expire",
            "turn of a",
            "turn of c",
            "cancel",
            "stop a",
        ),
        *("end another part", "claim action", "stop c"),
    ),
    "another leads": ("begin action", "complete action", "fail action", "turn of c", "turn of a", "cancel"),
    "a node died": (
        *(
            "turn of b again",
            "turn of a",
            "end part",
            "fail part",
            "renew part",
            "claim part",
            "cancel",
            "stop b",
        ),
    ),
    "two lives": ("turn of b again", "turn of a", "end part", "fail part", "end another part", "cancel"),
    "the job is over": ("turn of a", "claim part", "renew another part", "end another part", "cancel"),
}

STOPS: Mapping[str, str] = {
    "the job row": "select from windlass_data.job where id = %(job)s for update",
    "the cluster job": "select from windlass_data.cluster_job where job_id = %(job)s for update",
    "the parts": "select from windlass_data.cluster_part where job_id = %(job)s for update",
    "the leader": "select from windlass_data.leader for update",
    "the lease": "select from windlass_data.lease where %(job)s = any (job_ids) for update",
    "the first change of a line": "lock table windlass_data.ready, windlass_data.scheduled in share mode",
    "the first event": "lock table windlass_data.event in share mode",
}
