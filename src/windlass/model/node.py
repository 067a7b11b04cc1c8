"""One process of the cluster, as the others see it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass.model.row import FromRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(FromRow):
    """A node; `active` means that its heartbeat is fresh by the database's clock."""

    id: UUID
    name: str
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None = None
    host: str = ""
    pid: int = 0
    version: str = ""
    queues: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    concurrency: int = 0
    active: bool = True
    running: int = 0
    address: str | None = None
    """Where other programs reach it, if somebody has said so."""
    member: bool = False
    """Whether it takes part in cluster jobs."""
    leads: bool = False
    draining: bool = False

    def __post_init__(self) -> None:
        # Arrays arrive as lists; a frozen value must not be changed through one.
        object.__setattr__(self, "queues", tuple(self.queues))
        object.__setattr__(self, "kinds", tuple(self.kinds))
