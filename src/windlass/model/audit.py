"""What a check of the audit found."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Self
from uuid import UUID

from windlass.model.row import FromRow

__all__ = ["AuditFault", "AuditPage", "AuditReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage(FromRow):
    """What one page of a check found; `cursor` is None on the last one, and where something is wrong."""

    checked: int
    cursor: str | None = None
    fault: str | None = None
    message: str | None = None
    event_id: UUID | None = None
    place: int | None = None
    at: datetime | None = None
    sealed: int | None = None
    head: str | None = None
    unsealed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFault:
    """The first thing that is wrong with an audit: what, in words, and where."""

    fault: str
    message: str
    event_id: UUID | None = None
    place: int | None = None
    at: datetime | None = None

    @classmethod
    def of(cls, page: AuditPage) -> Self | None:
        if page.fault is None:
            return None
        return cls(**{field.name: getattr(page, field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What a whole check found.

    `head` is the end of the chain.  Noted where nobody who can write the database can write, it shows later
    that the chain up to there is still the same.  What is `unsealed` has no place in the chain yet.
    """

    tenant_id: UUID
    sealed: int = 0
    unsealed: int = 0
    head: str | None = None
    fault: AuditFault | None = None

    @property
    def sound(self) -> bool:
        return self.fault is None
