"""A redrive that runs as a job: which dead jobs it revives, how, and how far it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.document import check_json
from windlass.model.names import (
    as_number,
    check_kind,
    check_queue,
    describe_unstorable,
    find_unstorable,
    shown,
    with_article,
)
from windlass.model.new_job import check_moment
from windlass.model.retry import check_max_attempts
from windlass.model.row import FromRow

__all__ = ["REDRIVE_KIND", "SYSTEM_QUEUE", "DeadJob", "NewRedrive", "Preview", "Redrive"]

SYSTEM_QUEUE = "windlass.system"
"""Where the jobs of Windlass itself wait; every worker takes them."""

REDRIVE_KIND = "windlass.redrive"

MAX_PATTERN_LENGTH = 200
MAX_PATCH_BYTES = 8192
MAX_NAMES, MAX_IDS = 100, 10_000
MIN_THROTTLE, MAX_THROTTLE = 0.001, 100_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRedrive:
    """Which dead jobs are meant (all filters must let a job pass), and what becomes of them.

    `error_like` is a LIKE pattern, of any case, for the error's type, its message, or `type: message`.
    `everything` must be said where there is no filter, and only there.
    """

    kinds: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    error_like: str | None = None
    died_from: datetime | None = None
    died_to: datetime | None = None
    jobs: tuple[UUID, ...] | None = None
    everything: bool = False
    patch: Mapping[str, Any] | None = None
    """A JSON merge patch (RFC 7396) for the payloads, of one kind."""
    max_attempts: int | None = None
    throttle: float | None = None
    """How many jobs per second; None is as fast as it goes."""
    stop_rate: float | None = None
    """Stop when this share of the revived jobs that ended has died again, of `stop_after` at least."""
    stop_after: int = 20

    def __post_init__(self) -> None:
        self._check_filter()
        if self.patch is not None:
            self._check_patch()
        if self.max_attempts is not None:
            check_max_attempts(self.max_attempts)
        if self.throttle is not None:
            _check_number("throttle", self.throttle, MIN_THROTTLE, MAX_THROTTLE)
        if self.stop_rate is not None:
            _check_number("stop_rate", self.stop_rate, 0, 1)
        after: object = self.stop_after
        if isinstance(after, bool) or not isinstance(after, int) or not 1 <= after <= 1_000_000:
            raise InvalidInput(f"stop_after must be a whole number from 1 to 1000000, not {shown(after)}")

    @property
    def filtered(self) -> bool:
        filters = (self.kinds, self.queues, self.error_like, self.died_from, self.died_to, self.jobs)
        return any(value is not None for value in filters)

    def patch_json(self) -> str | None:
        return None if self.patch is None else check_json(self.patch, MAX_PATCH_BYTES, "patch")

    def _check_filter(self) -> None:
        if self.filtered == bool(self.everything):
            raise InvalidInput("a redrive needs a filter, or else the word that every dead job is meant")
        for names, check, what in ((self.kinds, check_kind, "kinds"), (self.queues, check_queue, "queues")):
            _check_count(names, MAX_NAMES, what)
            for name in names or ():
                check(name)
        _check_count(self.jobs, MAX_IDS, "ids of jobs")
        for moment, what in ((self.died_from, "died_from"), (self.died_to, "died_to")):
            if moment is not None:
                check_moment(moment, what)
        if self.died_from is not None and self.died_to is not None and self.died_from >= self.died_to:
            raise InvalidInput("died_from must be before died_to: no job died in between")
        if self.error_like is not None:
            _check_pattern(self.error_like)

    def _check_patch(self) -> None:
        if not isinstance(self.patch, Mapping):
            raise InvalidInput(f"the patch must be a JSON object, not {_json_name(self.patch)}")
        if self.kinds is None or len(self.kinds) != 1:
            raise InvalidInput("with a patch the redrive is for one kind, whose handler says what fits")
        self.patch_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    """A job that a redrive would revive."""

    id: UUID
    kind: str
    queue: str
    died_at: datetime
    attempts: int
    error: Mapping[str, Any]
    payload: Any
    patched: Any = None
    """The payload that it would have; None without a patch."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        moment = datetime.fromisoformat(document["died_at"])
        return cls(**{**document, "id": UUID(document["id"]), "died_at": moment})


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """How many dead jobs a redrive would be for, and the first of them."""

    matched: int
    sample: tuple[DeadJob, ...]
    cursor: UUID | None = None
    """Where the count goes on; None once it is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrive(FromRow):
    """A redrive as it is now.  Its id is that of its job."""

    id: UUID
    tenant_id: UUID
    state: str
    """done or stopped; until then that of its job: queued, running, dead or canceled."""
    actor: str
    created_at: datetime
    kinds: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    error_like: str | None = None
    died_from: datetime | None = None
    died_to: datetime | None = None
    named: int | None = None
    """How many jobs were named by their ids."""
    patch: Mapping[str, Any] | None = None
    max_attempts: int | None = None
    throttle: float | None = None
    stop_rate: float | None = None
    stop_after: int = 20
    expected: int | None = None
    """How many there were when it was started, if that was counted."""
    reason: str | None = None
    matched: int = 0
    """How many dead jobs it has come to so far: those redriven, refused and passed."""
    redriven: int = 0
    refused: int = 0
    """The patched payload does not fit the kind's handler."""
    passed: int = 0
    """No longer dead, or another job has the idempotency key."""
    ended: int = 0
    """Of those redriven, as far as they are watched: with a stop_rate, while it runs."""
    died: int = 0
    refusals: tuple[Mapping[str, Any], ...] = ()
    stop_reason: str | None = None
    ended_at: datetime | None = None
    read_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("kinds", "queues", "refusals"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else tuple(given))

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it; one that is dead goes on when its job is redriven."""
        return self.state not in ("queued", "running")


def _check_count(values: Iterable[Any] | None, most: int, what: str) -> None:
    if values is not None and not 1 <= len(tuple(values)) <= most:
        raise InvalidInput(f"a redrive takes 1 to {most} {what}")


def _check_number(what: str, value: object, least: float, most: float) -> None:
    number = as_number(value)
    if number is None:
        raise InvalidInput(f"the {what} must be a number, not {shown(value)}")
    if not least <= number <= most:
        raise InvalidInput(f"the {what} must be from {least:g} to {most:g}, not {shown(value)}")


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, str) or not 1 <= len(pattern) <= MAX_PATTERN_LENGTH:
        raise InvalidInput(f"the pattern for the error must have 1 to {MAX_PATTERN_LENGTH} characters")
    if character := find_unstorable(pattern):
        raise InvalidInput(f"the pattern for the error contains {describe_unstorable(character)}")
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise InvalidInput("the pattern for the error ends in an escape")


def _json_name(value: object) -> str:
    """What JSON calls such a value."""
    names = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), with_article(type(value).__name__))
