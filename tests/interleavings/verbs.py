"""Every verb that can meet another on one job: how it is said, and what its answer is called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tests.interleavings.meeting import JOB, NAMES, Meeting, name
from tests.sql.steps import Session

SAID_FIRST = UUID("01900000-0000-7000-8000-0000000000f1")
SAID_SECOND = UUID("01900000-0000-7000-8000-0000000000f2")
NAMES.update({SAID_FIRST: "the first one's", SAID_SECOND: "the second one's"})
MUCH_LATER = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Verb:
    """`say` gives an answer without ids and times; `passes` over what is held instead of waiting for it.

    `latest`: said twice, its second answer counts alone.
    """

    say: Callable[[Session, Any, UUID], Any]
    passes: bool = False
    latest: bool = False


def _codes(rows: list[Any]) -> list[str]:
    return [f"{row.code} {row.state}" for row in rows]


def _claim(session: Session, meeting: Meeting, mine: UUID) -> list[str]:
    return sorted(f"{name(row.job_id)} {row.version} {row.counted}" for row in session.claim(5))


def _complete(session: Session, meeting: Meeting, mine: UUID) -> list[str]:
    return [code for _, code in session.complete(meeting.word)]


def _renew(session: Session, meeting: Meeting, mine: UUID) -> list[str]:
    return sorted(f"{name(job_id)} {code}" for _, job_id, code in session.renew(meeting.word.token))


def _expire(session: Session, meeting: Meeting, mine: UUID) -> list[str]:
    return sorted(f"{name(job_id)} {state}" for job_id, state in session.expire())


def _redrive(session: Session, meeting: Meeting, mine: UUID) -> list[str]:
    rows = session.call("select job_id from windlass.redrive_jobs(%s, %s)", session.tenant, [JOB])
    return [name(row.job_id) for row in rows]


def _reschedule(session: Session, meeting: Meeting, mine: UUID) -> str:
    """Into another lane."""
    session.call("select windlass.reschedule_job(%s, %s, null, 7)", session.tenant, JOB)
    return "ok"


def _postpone(session: Session, meeting: Meeting, mine: UUID) -> str:
    session.call("select windlass.reschedule_job(%s, %s, %s)", session.tenant, JOB, MUCH_LATER)
    return "ok"


def _enqueue(session: Session, meeting: Meeting, mine: UUID) -> str:
    row = session.enqueue_row(id=mine, key="k", scope="active")
    return f"{name(row.job_id)} {'new' if row.created else 'there already'}"


def _begin(session: Session, meeting: Meeting, mine: UUID) -> list[str]:
    return [code for _, code in session.begin(meeting.word)]


VERBS: Mapping[str, Verb] = {
    "begin": Verb(_begin),
    "claim": Verb(_claim, passes=True),
    "complete": Verb(_complete),
    "finish": Verb(lambda session, meeting, mine: session.finish(meeting.word)),
    "fail": Verb(lambda session, meeting, mine: _codes(session.fail(meeting.word, delays=[3600]))),
    "snooze": Verb(lambda session, meeting, mine: _codes(session.snooze(meeting.word, delays=[3600]))),
    "release": Verb(lambda session, meeting, mine: _codes(session.release(meeting.word))),
    "renew": Verb(_renew, passes=True, latest=True),
    "expire": Verb(_expire, passes=True),
    "cancel": Verb(lambda session, meeting, mine: session.cancel(JOB)),
    "redrive": Verb(_redrive),
    "reschedule": Verb(_reschedule),
    "postpone": Verb(_postpone),
    "enqueue": Verb(_enqueue),
}

# Where they can meet.  A word with a token that no longer counts stands for all of its kind.
MEET: Mapping[str, tuple[str, ...]] = {
    "running": tuple(verb for verb in VERBS if verb not in ("begin", "postpone")),
    "running for the last time": ("claim", "complete", "fail", "expire", "cancel", "redrive", "enqueue"),
    "held and not begun": ("begin", "claim", "complete", "release", "expire", "cancel"),
    "asked to stop": ("claim", "complete", "finish", "fail", "release", "renew", "expire", "cancel"),
    "ready": ("claim", "cancel", "reschedule", "postpone", "enqueue", "fail"),
    "later": ("claim", "cancel", "reschedule", "postpone"),
    "due": ("claim", "cancel", "reschedule", "postpone", "enqueue", "complete"),
    "dead": ("claim", "cancel", "redrive", "enqueue", "fail"),
    "succeeded": ("cancel", "redrive", "enqueue", "complete"),
}
