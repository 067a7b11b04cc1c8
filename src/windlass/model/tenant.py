"""A tenant: the owner of jobs, and the boundary that no row crosses."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass.model.row import FromRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant(FromRow):
    """A tenant; `slug` is its readable name in commands."""

    id: UUID
    slug: str
    created_at: datetime
    name: str = ""
    ready: int = 0
    scheduled: int = 0
    running: int = 0
    weight: int = 1
    """Jobs per turn where tenants of a queue take turns."""
