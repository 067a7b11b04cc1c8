"""Redrives that run as jobs, as their tests take them: started, claimed, and moved slice by slice."""

import json
from typing import Any
from uuid import UUID

from tests.sql.operate import call, call_value, events
from tests.sql.steps import DEFAULT_TENANT, Session
from tests.support import Database

QUEUE, KIND = "windlass.system", "windlass.redrive"


def kill_many(jobs: Session, count: int, *, kind: str = "mail", payload: Any = None) -> list[UUID]:
    """So many jobs that died in their only attempt, in the order of their ids."""
    made = jobs.enqueue_many([{"kind": kind, "payload": payload or {}, "max_attempts": 1}] * count)
    held = jobs.claim(count, kinds=[kind])
    assert len(held) == count
    jobs.fail(*held, errors=[{"type": "ValueError", "message": "no such address"}] * count)
    return sorted(row.job_id for row in made)


def create(db: Database, tenant: UUID = DEFAULT_TENANT, **what: Any) -> UUID:
    if isinstance(what.get("patch"), dict | list):
        what["patch"] = json.dumps(what["patch"])
    redrive_id = call_value(db, "create_redrive", tenant=tenant, **what)
    assert isinstance(redrive_id, UUID)
    return redrive_id


def preview(db: Database, **what: Any) -> Any:
    (row,) = call(db, "preview_redrive", tenant=DEFAULT_TENANT, **what)
    return row


def get(db: Database, redrive_id: UUID) -> Any:
    (row,) = call(db, "get_redrive", tenant=DEFAULT_TENANT, job=redrive_id)
    return row


def counts(db: Database, redrive_id: UUID) -> tuple[Any, ...]:
    """State, and how many were redriven, refused and passed."""
    row = get(db, redrive_id)
    return (row.state, row.redriven, row.refused, row.passed)


def redriven(db: Database) -> list[UUID]:
    """The job of every event that tells of a revival, so that a second one shows."""
    return sorted(
        job for action, job in events(db, DEFAULT_TENANT, "action", "job_id") if action == "job.redrive"
    )


class Runner:
    """A worker that holds one redrive's job."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.held = session.claim_one(queues=[QUEUE], kinds=[KIND])

    def tend(self) -> Any:
        query = "select * from windlass.tend_redrive(%s, %s)"
        (row,) = self.session.call(query, self.held.token, self.held.job_id)
        return row

    def move(self, turn: Any, refused: dict[UUID, str] | None = None) -> int:
        faults = refused or {}
        query = "select windlass.move_redrive(%s, %s, %s, %s, %s::uuid[], %s::uuid[], %s::text[])"
        taken = [job for job in turn.jobs if job not in faults]
        words = (self.held.token, self.held.job_id, turn.after, turn.upto)
        return int(self.session.value(query, *words, taken, list(faults), list(faults.values())))

    def step(self) -> Any:
        """One slice, if there is one to be moved."""
        turn = self.tend()
        if turn.upto is not None:
            self.move(turn)
        return turn

    def run(self) -> Any:
        """Slice after slice, until it is over or has to wait."""
        while True:
            turn = self.step()
            if turn.outcome is not None or turn.wait > 0:
                return turn
