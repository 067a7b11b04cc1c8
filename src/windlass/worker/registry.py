"""Which kinds are known here, and what runs them."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, get_args

from windlass.errors import InvalidInput, UnknownKind
from windlass.model import ClaimedJob, RetryPolicy, check_kind, check_queue
from windlass.model.names import as_number, shown
from windlass.model.new_job import check_concurrency_limit
from windlass.model.retry import as_policy
from windlass.worker.keys import KeyRule, KeySource
from windlass.worker.payload import PayloadShape, bare_function, result_adapter
from windlass.worker.result import ResultShape

__all__ = ["Isolation", "JobDefinition", "Registry", "Room"]

Isolation: TypeAlias = Literal["auto", "loop", "thread", "process"]
Room: TypeAlias = Literal["loop", "thread", "process"]

MIN_PRIORITY, MAX_PRIORITY = -32_768, 32_767
MAX_TIMEOUT_SECONDS = 2_000_000.0


@dataclass(frozen=True, slots=True, eq=False)
class JobDefinition:
    """One kind: its handler, and what its jobs get unless an enqueue says otherwise."""

    kind: str
    handler: Callable[..., Any]
    shape: PayloadShape
    queue: str
    priority: int
    retry: RetryPolicy
    timeout: float | None
    isolation: Isolation
    room: Room
    """Where the handler runs: what `isolation` comes down to for this handler."""
    is_async: bool
    results: ResultShape
    key: KeyRule | None = None
    """How its jobs get their concurrency keys; None: they have none."""
    concurrency_limit: int | None = None
    prepare: Callable[[ClaimedJob], Any] | None = None
    """What the node does before a child runs the handler, which finds the value in its context.

    A child has no connection to the database.  A Snooze ends the attempt there.
    """

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        kind: str | None = None,
        queue: str = "default",
        priority: int = 0,
        max_attempts: int | None = None,
        retry: RetryPolicy | str | None = None,
        timeout: float | None = None,
        isolation: Isolation = "auto",
        concurrency_key: KeySource | None = None,
        concurrency_limit: int | None = None,
    ) -> Self:
        """The definition of a typed function; InvalidInput if it cannot be a handler."""
        kind = check_kind(getattr(function, "__name__", "") if kind is None else kind)
        policy = as_policy(retry) or RetryPolicy()
        if max_attempts is not None:
            policy = replace(policy, max_attempts=max_attempts)
        is_async = _is_async(function, kind)
        shape = PayloadShape(function, kind)
        if concurrency_limit is not None and concurrency_key is None:
            raise InvalidInput(f"the concurrency_limit of {kind!r} needs a concurrency_key")
        return cls(
            kind=kind,
            handler=function,
            shape=shape,
            queue=check_queue(queue),
            priority=check_priority(priority),
            retry=policy,
            timeout=check_timeout(timeout),
            isolation=isolation,
            room=_room(function, kind, isolation, is_async),
            is_async=is_async,
            results=ResultShape(kind, result_adapter(function, kind)),
            key=None if concurrency_key is None else KeyRule(concurrency_key, shape),
            concurrency_limit=None
            if concurrency_limit is None
            else check_concurrency_limit(concurrency_limit),
        )

    @property
    def wants_context(self) -> bool:
        return self.shape.wants_context

    @property
    def payload_type(self) -> Any:
        """The model that is the whole payload; None where the payload has the parameters as fields."""
        return self.shape.model

    def encode_payload(self, /, *args: Any, **kwargs: Any) -> Any:
        """The payload of a call as plain JSON values, checked against the handler's annotations."""
        return self.shape.encode(*args, **kwargs)

    def encode_keyed(self, /, *args: Any, **kwargs: Any) -> tuple[Any, str | None]:
        """The same, and the concurrency key of the job; None if it has none."""
        value, payload = self.shape.check(*args, **kwargs)
        return payload, None if self.key is None else self.key.of(value)

    def encode_json(self, payload: Any) -> tuple[Any, str | None]:
        """The same of a payload that comes as plain JSON, from whoever does not call the function."""
        value, payload = self.shape.check_json(payload)
        return payload, None if self.key is None else self.key.of(value)

    def decode_payload(self, payload: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the handler for a stored payload, given as JSON text and checked again.

        The context is not among them.
        """
        return self.shape.decode(payload)

    def decode_result(self, result: Any) -> Any:
        """A stored result as the handler's return annotation has it, else as plain JSON."""
        return self.results.decode(result)


class Registry:
    """The kinds that a node can run.  Others stay queued for a node that knows them."""

    def __init__(self) -> None:
        self._definitions: dict[str, JobDefinition] = {}

    def add(self, definition: JobDefinition) -> JobDefinition:
        """Make a kind known; each is known once."""
        known = self._definitions.setdefault(definition.kind, definition)
        if known is not definition:
            raise InvalidInput(f"the kind {definition.kind!r} has a handler already")
        return definition

    def get(self, kind: str) -> JobDefinition:
        try:
            return self._definitions[kind]
        except KeyError:
            raise UnknownKind(f"no handler is registered here for the kind {kind!r}", kind=kind) from None

    def kinds(self) -> tuple[str, ...]:
        """Every known kind, in alphabetical order."""
        return tuple(sorted(self._definitions))

    def __contains__(self, kind: object) -> bool:
        return kind in self._definitions

    def __iter__(self) -> Iterator[JobDefinition]:
        return iter(tuple(self._definitions.values()))

    def __len__(self) -> int:
        return len(self._definitions)


def check_priority(value: object) -> int:
    """`value` itself, if it can be a priority."""
    if isinstance(value, bool) or not isinstance(value, int) or not MIN_PRIORITY <= value <= MAX_PRIORITY:
        raise InvalidInput(
            f"a priority is a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}, not {shown(value)}"
        )
    return value


def check_timeout(value: object) -> float | None:
    """`value` as a number of seconds that a handler may run; None is no limit."""
    if value is None:
        return None
    number = as_number(value)
    if number is None:
        raise InvalidInput(f"a timeout is a number of seconds, not {shown(value)}")
    if not 0.001 <= number <= MAX_TIMEOUT_SECONDS:
        raise InvalidInput(
            f"a timeout is from 0.001 to {MAX_TIMEOUT_SECONDS:.0f} seconds, not {shown(value)}"
        )
    return number


def refuse_unreachable(function: Callable[..., Any], kind: str) -> None:
    """A child process finds a handler by its name, or not at all."""
    name = getattr(function, "__qualname__", "<locals>")
    if "<" in name or not inspect.isfunction(function):
        raise InvalidInput(
            f"the handler of {kind!r} must be a function of a module to run in another process"
        )


def refuse_method(function: Callable[..., Any], kind: str) -> None:
    """Where a job runs there is no object for a method; one that is bound has its own."""
    home = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not home or home.endswith("<locals>") or not inspect.isfunction(function):
        return
    if (first := next(iter(inspect.signature(function).parameters), None)) in ("self", "cls"):
        raise InvalidInput(
            f"the handler of {kind!r} is a method, and a job has no {first!r} to call it with: "
            "use a function, a static method, or app.job(object.method)"
        )


def _is_async(function: Callable[..., Any], kind: str) -> bool:
    if not callable(function):
        raise InvalidInput(f"the handler of {kind!r} cannot be called")
    refuse_method(function, kind)
    target = bare_function(function)
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise InvalidInput(f"the handler of {kind!r} is a generator: a handler returns one result")
    return inspect.iscoroutinefunction(target)


def _room(function: Callable[..., Any], kind: str, isolation: str, is_async: bool) -> Room:
    if isolation not in get_args(Isolation):
        raise InvalidInput(f"isolation is auto, loop, thread or process, not {shown(isolation)}")
    if isolation == "thread" and is_async:
        raise InvalidInput(
            f"the handler of {kind!r} is async: it runs on the loop or in a process, not in a thread"
        )
    if isolation == "process":
        refuse_unreachable(function, kind)
        return "process"
    if isolation == "auto":
        return "loop" if is_async else "thread"
    return "loop" if isolation == "loop" else "thread"
