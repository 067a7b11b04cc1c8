"""Cluster jobs: work on every node, a quorum of it, then the leader's action."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self, get_args
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.new_job import NewJob
from windlass.model.retry import RetryPolicy
from windlass.model.row import FromRow

__all__ = [
    "CLUSTER_QUEUE",
    "ClusterJob",
    "Leader",
    "NewClusterJob",
    "OnCrash",
    "OnTimeout",
    "Part",
    "Quorum",
    "Standing",
]

CLUSTER_QUEUE = "windlass.cluster"
"""Where cluster jobs wait for their leader; nobody else may claim from it."""

MAX_QUORUM_SECONDS = 86_400.0

Quorum = Literal["majority", "all"]
OnTimeout = Literal["proceed", "fail", "wait"]
OnCrash = Literal["requeue", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(FromRow):
    """One node's part of a cluster job."""

    node_id: UUID
    node_name: str
    state: str
    """queued, running, retrying, succeeded, failed, canceled or skipped."""
    attempts: int = 0
    counted: int = 0
    result: Any = None
    error: Mapping[str, Any] | None = None
    run_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """A part out of the document in which the database hands over all of them."""
        times = {
            name: datetime.fromisoformat(document[name])
            for name in ("run_at", "started_at", "finished_at")
            if document.get(name) is not None
        }
        return cls.from_row({**document, **times, "node_id": UUID(document["node_id"])})

    @property
    def done(self) -> bool:
        """Whether it counts toward the quorum."""
        return self.state in ("succeeded", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob(FromRow):
    """What a cluster job has beyond any other job."""

    job_id: UUID
    term: int
    """In which it was created."""
    needed: int
    on_timeout: OnTimeout
    on_crash: OnCrash
    quorum_timeout: float
    parts: tuple[Part, ...]
    deadline_at: datetime | None = None
    settled_at: datetime | None = None
    verdict: str | None = None
    """What was decided about the parts: quorum, timeout, impossible or forced; None while they run."""
    warning: str | None = None
    action_term: int | None = None
    """In which the leader's action last began."""
    ended_at: datetime | None = None

    @property
    def done(self) -> int:
        """How many parts count toward the quorum."""
        return sum(part.done for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader(FromRow):
    """The node that leads, and the term in which it does."""

    node_id: UUID
    term: int
    name: str | None = None
    """None, like the address, for a role that is bound to a tenant and does not run the node itself."""
    address: str | None = None
    """None also where nobody has said one."""
    since: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(FromRow):
    """What a node hears at its turn: who leads, and what waits for it."""

    leads: bool
    term: int
    draining: bool
    parts: int
    leader_id: UUID | None = None
    leader_name: str | None = None
    leader_address: str | None = None
    leader_seconds: float = 0.0
    """How long the leader's lease lasts yet, or for how long it is over."""
    busy: bool = True
    """Whether a cluster job or a part of one is unfinished, wherever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClusterJob:
    """What to create: the job of the leader's action, and how the parts before it are handled."""

    job: NewJob
    local: bool | None = None
    """False: there are no parts, only the leader's action.  None: as the leader's application declares."""
    quorum: Quorum = "majority"
    quorum_timeout: float = 10.0
    on_timeout: OnTimeout = "proceed"
    on_crash: OnCrash = "requeue"
    part_retry: RetryPolicy | None = None

    def __post_init__(self) -> None:
        for name, choice in (("quorum", Quorum), ("on_timeout", OnTimeout), ("on_crash", OnCrash)):
            if getattr(self, name) not in get_args(choice):
                given = getattr(self, name)
                raise InvalidInput(f"{name} must be one of {', '.join(get_args(choice))}, not {given!r}")
        if self.job.concurrency_key is not None:
            raise InvalidInput("a cluster job has no concurrency_key: its leader runs one action at a time")
        seconds: object = self.quorum_timeout
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise InvalidInput(f"the quorum_timeout must be a number of seconds, not {seconds!r}")
        if not 0.001 <= seconds <= MAX_QUORUM_SECONDS:
            raise InvalidInput(f"the quorum_timeout must be from a millisecond to a day, not {seconds!r}")

    @property
    def quorum_timeout_ms(self) -> int:
        return max(1, round(self.quorum_timeout * 1000))
