"""A job as its producer describes it, checked before it travels."""

import json
import operator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

from windlass.errors import InvalidInput
from windlass.model.document import MAX_PAYLOAD_BYTES, check_json
from windlass.model.names import (
    as_number,
    check_concurrency_key,
    check_idempotency_key,
    check_kind,
    check_queue,
    describe_unstorable,
    find_unstorable,
    shown,
)
from windlass.model.retry import MAX_DELAY_SECONDS, RetryPolicy, as_policy, check_max_attempts

Scope = Literal["forever", "active"]
_SCOPES = get_args(Scope)

MIN_PRIORITY, MAX_PRIORITY = -32_768, 32_767
MAX_TIMEOUT_SECONDS = 2_000_000.0
MAX_TRACE_LENGTH = 200
MAX_CONCURRENCY_LIMIT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """What to run and how; a field that is None takes the database's default.

    `delay` counts from the moment of the enqueue by the database's clock.  With a `key`, a second
    enqueue of the same kind finds the first job instead: for as long as its record is kept
    (`forever`), or until it has ended (`active`).  Of the jobs of a kind with one `concurrency_key` only
    `concurrency_limit` (1 unless given) run at a time, in order.
    """

    kind: str
    payload: Any
    id: UUID | None = None
    queue: str = "default"
    priority: int = 0
    run_at: datetime | None = None
    delay: float | timedelta | None = None
    key: str | None = None
    scope: Scope = "forever"
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    timeout: float | timedelta | None = None
    trace_id: str | None = None
    correlation_id: str | None = None
    concurrency_key: str | None = None
    concurrency_limit: int | None = None

    def __post_init__(self) -> None:
        check_kind(self.kind)
        check_queue(self.queue)
        check_priority(self.priority)
        if self.key is not None:
            check_idempotency_key(self.key)
        if not isinstance(self.id, UUID | None):
            raise InvalidInput(f"the id must be a UUID, not {shown(self.id)}")
        if self.retry is not None:
            object.__setattr__(self, "retry", as_policy(self.retry))
        if self.scope not in _SCOPES:
            raise InvalidInput(f"the scope must be forever or active, not {shown(self.scope)}")
        if self.max_attempts is not None:
            check_max_attempts(self.max_attempts)
        if self.run_at is not None:
            check_moment(self.run_at, "run_at")
        if self.run_at is not None and self.delay is not None:
            raise InvalidInput("give either run_at or delay, and not both")
        if self.delay is not None:
            object.__setattr__(self, "delay", check_delay(self.delay))
        if self.timeout is not None:
            object.__setattr__(self, "timeout", _seconds("timeout", self.timeout, 0.001, MAX_TIMEOUT_SECONDS))
        if self.trace_id is not None:
            _check_label(self.trace_id, "trace_id")
        if self.correlation_id is not None:
            _check_label(self.correlation_id, "correlation_id")
        self._check_turn()

    def _check_turn(self) -> None:
        if self.concurrency_key is not None:
            check_concurrency_key(self.concurrency_key)
        if self.concurrency_limit is not None:
            check_concurrency_limit(self.concurrency_limit)
            if self.concurrency_key is None:
                raise InvalidInput("a concurrency_limit needs a concurrency_key")

    def with_fields(self, **fields: Any) -> "NewJob":
        """A copy that differs in these fields.  Nothing is checked again: they come from us."""
        copy = object.__new__(NewJob)
        for name in self.__slots__:
            object.__setattr__(copy, name, fields[name] if name in fields else getattr(self, name))
        return copy

    @property
    def delay_seconds(self) -> float | None:
        return self.delay.total_seconds() if isinstance(self.delay, timedelta) else self.delay

    @property
    def timeout_ms(self) -> int | None:
        seconds = self.timeout.total_seconds() if isinstance(self.timeout, timedelta) else self.timeout
        return None if seconds is None else max(1, round(seconds * 1000))

    @property
    def attempts(self) -> int | None:
        """How many attempts it may have: its own number, else that of its retry policy."""
        if self.max_attempts is None and self.retry is not None:
            return self.retry.max_attempts
        return self.max_attempts

    def encode_payload(self, limit_bytes: int = MAX_PAYLOAD_BYTES) -> str:
        """The payload as JSON text, or InvalidInput."""
        return check_json(self.payload, limit_bytes, "payload")

    @property
    def shared(self) -> tuple[Any, ...]:
        """All that jobs must have in common to be enqueued by one `enqueue_many`."""
        return _SHARED(self)

    def shared_json(self) -> str:
        """What they have in common, as the JSON object that `enqueue_many` takes."""
        return json.dumps(self._given(id=None, key=None))

    def to_json(self, payload: str) -> str:
        """The JSON object that `enqueue_jobs` takes; `payload` is what `encode_payload` gave."""
        given = self._given(id=None if self.id is None else str(self.id), key=self.key)
        # The payload is text already and may be large: it goes in as it is, not through the encoder again.
        return f'{json.dumps(given)[:-1]}, "payload": {payload}}}'

    def _given(self, id: str | None, key: str | None) -> dict[str, Any]:
        said = {
            "id": id,
            "key": key,
            "kind": self.kind,
            "queue": self.queue,
            "priority": self.priority,
            "run_at": None if self.run_at is None else self.run_at.isoformat(),
            "scope": self.scope,
            "max_attempts": self.attempts,
            "retry": None if self.retry is None else self.retry.to_json(),
            "timeout_ms": self.timeout_ms,
            "trace_id": self.trace_id,
            "correlation_id": self.correlation_id,
            "concurrency_key": self.concurrency_key,
            "concurrency_limit": self.concurrency_limit,
        }
        return {name: value for name, value in said.items() if value is not None}


_SHARED = operator.attrgetter(
    *(field.name for field in fields(NewJob) if field.name not in ("id", "key", "payload"))
)


def check_moment(value: object, what: str) -> datetime:
    """`value` itself, if it is a moment that means the same everywhere."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {shown(value)}")
    if value.utcoffset() is None:
        raise InvalidInput(f"{what} needs a time with its time zone, not {value.isoformat()}")
    return value


def check_concurrency_limit(value: object) -> int:
    """`value` itself, if so many jobs with one key may run at a time."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_CONCURRENCY_LIMIT:
        raise InvalidInput(
            f"the concurrency_limit must be a whole number from 1 to {MAX_CONCURRENCY_LIMIT}, "
            f"not {shown(value)}"
        )
    return value


def check_priority(value: object) -> int:
    """`value` itself, if it is a priority."""
    if isinstance(value, bool) or not isinstance(value, int) or not MIN_PRIORITY <= value <= MAX_PRIORITY:
        raise InvalidInput(
            f"the priority must be a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}, not {shown(value)}"
        )
    return value


def _check_label(value: object, what: str) -> None:
    if not isinstance(value, str) or len(value) > MAX_TRACE_LENGTH:
        raise InvalidInput(f"the {what} must be text of at most {MAX_TRACE_LENGTH} characters")
    if character := find_unstorable(value):
        raise InvalidInput(f"the {what} contains {describe_unstorable(character)}")


def check_delay(value: object) -> float:
    """`value` as a number of seconds, if a job may be put off for so long."""
    return _seconds("delay", value, 0, MAX_DELAY_SECONDS)


def _seconds(what: str, value: object, least: float, most: float) -> float:
    number = as_number(value.total_seconds() if isinstance(value, timedelta) else value)
    if number is None:
        raise InvalidInput(f"the {what} must be a number of seconds or a timedelta, not {shown(value)}")
    if not least <= number <= most:
        raise InvalidInput(f"the {what} must be from {least:.15g} to {most:.15g} seconds, not {shown(value)}")
    return number
