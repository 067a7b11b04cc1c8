"""A pause, stored with its reason, its actor and, if it is to end by itself, its expiry."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass.model.row import FromRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(FromRow):
    """Holds the claims that match all of its parts; a gate with no part holds every claim."""

    id: UUID
    created_at: datetime
    actor: str
    reason: str = ""
    tenant_id: UUID | None = None
    queue: str | None = None
    kind: str | None = None
    node: str | None = None
    """The id or the name of a node."""
    expires_at: datetime | None = None
    releases: bool = False
    """Whether what runs is sent back too."""

    @property
    def scope(self) -> str:
        """What the gate holds, in words: `everything`, or for instance `queue mail, kind send`."""
        parts = {"tenant": self.tenant_id, "queue": self.queue, "kind": self.kind, "node": self.node}
        return ", ".join(f"{part} {name}" for part, name in parts.items() if name is not None) or "everything"
