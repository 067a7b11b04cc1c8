"""A queue: a named lane of work, and what is in it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from windlass.model.row import FromRow

Mode = Literal["fair", "strict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(FromRow):
    """A queue; `mode` says how tenants share it: by weighted round robin, or by priority alone."""

    name: str
    mode: Mode = "fair"
    ready: int = 0
    scheduled: int = 0
    running: int = 0
    oldest_run_at: datetime | None = None
    """When the oldest job that is due could have started; None if none is due."""
    oldest_seconds: float | None = None
    """How long that is ago by the database's clock."""
    waiting_nodes: int = 0
    gated: bool = False
    created_at: datetime | None = None
    ageing_seconds: float | None = None
    """After this time of waiting a line's priority rises by one, again and again; None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unserved(FromRow):
    """A queue and a kind of which jobs wait, and that no active node takes."""

    queue: str
    kind: str
    ready: int = 0
    scheduled: int = 0
    kind_known: bool = False
    """Some active node knows the kind, but takes nothing from this queue."""
