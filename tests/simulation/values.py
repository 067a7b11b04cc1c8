"""What the simulated database is made of, and the words that are said to it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "COUNTLESS",
    "SUCCESS",
    "TERMINAL",
    "Attempt",
    "Gate",
    "Job",
    "Lease",
    "Refused",
    "Retry",
    "Row",
    "Said",
]

TERMINAL = frozenset({"succeeded", "skipped", "dead", "canceled"})
SUCCESS = frozenset({"succeeded", "skipped"})
COUNTLESS = frozenset({"snoozed", "released"})


class Refused(Exception):
    """The call fails with this code and changes nothing."""


class Retry(NamedTuple):
    """How long a job waits after a failure, in milliseconds, without chance."""

    base: int = 7_000
    factor: int = 2
    cap: int | None = None

    def wait(self, failures: int) -> int:
        grown = self.base * self.factor ** (failures - 1)
        return grown if self.cap is None else min(grown, self.cap)


DOUBLING = Retry()


@dataclass(slots=True)
class Attempt:
    version: int
    counted: int
    token: Any
    node: str
    started_at: int
    finished_at: int
    outcome: str
    ends: str | None
    result: Any = None
    error: Any = None
    doubt: bool = False
    """Given back because nobody knows whether its handler was called."""


@dataclass(slots=True, eq=False)
class Job:
    tenant: Any
    id: Any
    kind: str
    payload: Any = None
    queue: str = "default"
    priority: int = 0
    max_attempts: int = 5
    run_at: int | None = None
    key: str | None = None
    retry: Retry = DOUBLING
    created_at: int = 0
    seq: int | None = None
    version: int = 0
    counted: int = 0
    ended: str | None = None
    ended_at: int | None = None
    ended_reason: str | None = None
    cancel_requested: bool = False
    reasons: list[str | None] = field(default_factory=list)
    """Of those who asked while it ran."""
    attempts: list[Attempt] = field(default_factory=list)
    cost: int = 0

    @property
    def lane(self) -> tuple[Any, str, str, int]:
        return (self.tenant, self.queue, self.kind, self.priority)


@dataclass(slots=True)
class Lease:
    token: Any
    lane: tuple[Any, str, str, int]
    node: str
    claimed_at: int
    expires_at: int
    jobs: dict[Any, tuple[int, int]] = field(default_factory=dict)
    """By job: the version of its attempt, and how many attempts counted before it."""
    open: int = 0
    begins: set[Any] | None = None
    """Jobs of which the holder said that it begins them; None: it does not say."""
    begun: set[Any] = field(default_factory=set)
    """And that their handlers were called."""


class Gate(NamedTuple):
    until: int | None
    releases: bool


class Said(NamedTuple):
    """The last word about an attempt, if it is no success."""

    token: Any
    job: Any
    outcome: str
    delay: int | None = None
    error: Any = None
    doubt: bool = False


class Row(NamedTuple):
    """What became of the job."""

    job: Any
    code: str
    state: str | None = None
    run_at: int | None = None
