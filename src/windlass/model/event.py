"""An append-only fact: who did what to which job, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.model.row import FromRow


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
