"""A system as the bench knows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BASE", "ON_POSTGRESQL", "System"]

# What every driver can do; a workload names what it needs.
BASE = frozenset({"single", "bulk", "work"})
ON_POSTGRESQL = BASE | {"clients", "snapshot"}


@dataclass(frozen=True, slots=True)
class System:
    """How its driver is started, and how the database is asked about its jobs.

    `left_sql` is 0 when no job is left to do, and quick; `entered_sql` counts the jobs that are there;
    `done_sql` counts those recorded as succeeded, where the system keeps them, to be held against what was
    enqueued.
    """

    name: str
    version: str
    command: tuple[str, ...]
    left_sql: str
    entered_sql: str
    done_sql: str | None = None
    can: frozenset[str] = BASE
    config: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    migrated: bool = False
    """Whether its database gets the schema of Windlass, and its driver the application's role."""
    acks_trail: bool = False
    """Whether handlers run ahead of their records: then `done_sql` says what is done, and it is quick."""
    on_redis: bool = False
    """Whether it keeps its jobs there; its driver then counts them, and the server's cost is not known."""
    share: float = 1.0
    """How much of a large load it gets: one that takes minutes for it need not be longer."""
    settings: str = ""
    """The settings it runs on, in words."""
