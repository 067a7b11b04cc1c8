"""A queue: a named lane of work, and what is in it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from windlass.model.row import FromRow

Order = Literal["fair", "strict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(FromRow):
    """A queue; `order` says how tenants share it: by weighted round robin, or by priority alone."""

    name: str
    order: Order = "fair"
    queued: int = 0
    scheduled: int = 0
    running: int = 0
    dead: int = 0
    oldest_run_at: datetime | None = None
    """When the oldest job that is due could have started; None if none is due."""
    gated: bool = False
    created_at: datetime | None = None
