"""An append-only fact: who did what to which job, and why."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.row import FromRow

_VERBS = {
    "attempts": "seal",
    "budget": "warning",
    "clock": "back",
    "cluster": "action closed create impossible quorum timeout",
    "gate": "clear set",
    "job": "cancel canceled dead redrive reschedule skipped succeeded",
    "jobs": "prune",
    "leader": "elected resigned",
    "limit": "clear set",
    "node": "drain",
    "part": "canceled claimed crashed failed released skipped snoozed succeeded timed_out",
    "queue": "set",
    "redrive": "end start stop",
    "role": "bind unbind",
    "tenant": "create set",
}
ACTIONS = frozenset(f"{noun}.{verb}" for noun, verbs in _VERBS.items() for verb in verbs.split())
"""Everything that the audit may say was done."""


def check_actions(names: Iterable[str]) -> list[str]:
    """`names`, if each is an action: a filter by another would find nothing and look like an answer."""
    given = list(names)
    for name in given:
        if name not in ACTIONS:
            near = difflib.get_close_matches(name, sorted(ACTIONS), 1)
            meant = f": did you mean {near[0]}?" if near else ", such as job.cancel, job.dead or gate.set"
            raise InvalidInput(f"{name!r} is no action of the audit{meant}")
    return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(FromRow):
    """One fact of the audit: an operator's action or a job's terminal outcome."""

    id: UUID | int
    at: datetime
    actor: str
    action: str
    job_id: UUID | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    login: str | None = None
    """The database role that did it, whatever name was given as the actor; None for what is not stored."""
    place: int | None = None
    """In the chain of its tenant; None while it is not sealed, and for what is not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(FromRow):
    """One step in the history of a job: what happened, by whom, in which attempt and why."""

    at: datetime
    what: str
    actor: str | None = None
    attempt: int | None = None
    reason: str | None = None
    details: Mapping[str, Any] | None = None
    node_name: str | None = None
    """What the node is called that is the actor, where it is one and known."""
