"""A typed function as a kind of job: called, it is the function; enqueued, it is a job."""

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload
from uuid import UUID

from windlass.app.options import options_of, refuse_reserved, refuse_unknown, shown_signature
from windlass.client import AsyncClient, JobHandle, SyncClient, SyncJobHandle, TenantName
from windlass.errors import InvalidInput
from windlass.model import NewJob, RetryPolicy, Scope
from windlass.model.names import as_list, concurrency_key_text
from windlass.model.retry import as_policy
from windlass.worker.context import JobContext
from windlass.worker.keys import KeySource
from windlass.worker.registry import Isolation, JobDefinition, Registry

__all__ = [
    "Clients",
    "Enqueuer",
    "JobDecorator",
    "JobFunction",
    "JobOptions",
    "global_name",
]

C = ParamSpec("C")  # how the plain function is called
V = TypeVar("V")  # what that call gives
P = ParamSpec("P")  # the payload: the same parameters without the context
R = TypeVar("R")  # the result
T = TypeVar("T")

_KIND_OPTIONS = options_of(JobDefinition.from_function)


class Clients(Protocol):
    """Where a job function finds its way to the database, when it needs it."""

    @property
    def client(self) -> AsyncClient: ...

    @property
    def sync(self) -> SyncClient: ...


class JobOptions(TypedDict, total=False):
    """What an enqueue may say beyond the payload; whatever is left out is as the job's kind has it."""

    tenant: TenantName | None
    connection: Any
    id: UUID | None
    queue: str | None
    priority: int | None
    run_at: datetime | None
    delay: float | timedelta | None
    key: str | None
    scope: Scope | None
    max_attempts: int | None
    retry: RetryPolicy | str | None
    timeout: float | timedelta | None
    trace_id: str | None
    correlation_id: str | None
    concurrency_key: str | int | UUID | None
    concurrency_limit: int | None


class Enqueuer(Generic[P, R]):
    """Enqueues jobs of one kind, with the options collected so far."""

    def __init__(self, clients: Clients, definition: JobDefinition, options: JobOptions) -> None:
        self._clients = clients
        self._options = options
        self.definition = definition

    def options(self, **options: Unpack[JobOptions]) -> "Enqueuer[P, R]":
        """The same kind with other options: `send.options(delay=60, connection=conn).enqueue(...)`."""
        refuse_unknown(options, JobOptions.__annotations__)
        return Enqueuer(self._clients, self.definition, {**self._options, **options})

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """The job that an enqueue would send, checked; `enqueue_jobs` of a client takes many such."""
        return self._describe(*self.definition.encode_keyed(*args, **kwargs))

    def new_of(self, payload: Any) -> NewJob:
        """The same for a payload that is plain JSON."""
        return self._describe(*self.definition.encode_json(payload))

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Enqueue one job with this payload."""
        return await self._client.enqueue(self.new(*args, **kwargs), tenant=self._options.get("tenant"))

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> SyncJobHandle[R]:
        """Enqueue one job with this payload, blocking."""
        return self._sync.enqueue(self.new(*args, **kwargs), tenant=self._options.get("tenant"))

    async def enqueue_many(self, payloads: Iterable[Any]) -> list[JobHandle[R]]:
        """Enqueue a job for each payload, all or none.

        A payload is the handler's model (or a dict of its fields), a dict of its parameters, a tuple of
        them in order, or the only one.
        """
        self._refuse_one_for_many()
        tenant = self._options.get("tenant")
        if self._keys_differ:
            return await self._client.enqueue_jobs(self._each(payloads), tenant=tenant)
        return await self._client.enqueue_many(payloads=payloads, tenant=tenant, **self._shared())

    def enqueue_many_sync(self, payloads: Iterable[Any]) -> list[SyncJobHandle[R]]:
        """Enqueue a job for each payload, all or none, blocking."""
        self._refuse_one_for_many()
        tenant = self._options.get("tenant")
        if self._keys_differ:
            return self._sync.enqueue_jobs(self._each(payloads), tenant=tenant)
        return self._sync.enqueue_many(payloads=payloads, tenant=tenant, **self._shared())

    @property
    def _client(self) -> AsyncClient:
        connection = self._options.get("connection")
        return self._clients.client if connection is None else self._clients.client.using(connection)

    @property
    def _sync(self) -> SyncClient:
        connection = self._options.get("connection")
        return self._clients.sync if connection is None else self._clients.sync.using(connection)

    @property
    def _keys_differ(self) -> bool:
        """Whether each payload has a concurrency key of its own."""
        return self.definition.key is not None and self._options.get("concurrency_key") is None

    def _refuse_one_for_many(self) -> None:
        for name in ("id", "key"):
            if self._options.get(name) is not None:
                raise InvalidInput(
                    f"one {name} cannot serve many jobs: make each with .options({name}=...).new(...)"
                )

    def _shared(self) -> dict[str, Any]:
        """What the jobs of one call have in common."""
        return {**self._said(None), "encode": self._encode}

    def _each(self, payloads: Iterable[Any]) -> list[NewJob]:
        kind = self.definition
        given = as_list(payloads, "payloads")
        return [self._describe(*_called(kind.encode_keyed, kind, payload)) for payload in given]

    def _encode(self, payload: Any) -> Any:
        return _called(self.definition.encode_payload, self.definition, payload)

    def _describe(self, payload: Any, found: str | None) -> NewJob:
        said = self._options
        return NewJob(
            payload=payload,
            id=said.get("id"),
            key=said.get("key"),
            scope=_or(said.get("scope"), "forever"),
            **self._said(found),
        )

    def _said(self, found: str | None) -> dict[str, Any]:
        """What is sent beside the payload, whose own concurrency key is `found`."""
        kind, said = self.definition, self._options
        retry = said.get("retry")
        policy = as_policy(retry) or kind.retry
        attempts = said.get("max_attempts")
        return {
            "kind": kind.kind,
            "queue": _or(said.get("queue"), kind.queue),
            "priority": _or(said.get("priority"), kind.priority),
            "run_at": said.get("run_at"),
            "delay": said.get("delay"),
            "max_attempts": policy.max_attempts if attempts is None else attempts,
            "retry": _unless_default(policy),
            "timeout": _or(said.get("timeout"), kind.timeout),
            "trace_id": said.get("trace_id"),
            "correlation_id": said.get("correlation_id"),
            **self._turn(found),
        }

    def _turn(self, found: str | None) -> dict[str, Any]:
        given, limit = self._options.get("concurrency_key"), self._options.get("concurrency_limit")
        key = found if given is None else concurrency_key_text(given)
        if key is None and self.definition.key is not None:
            return {}  # a payload without a key, of a kind whose jobs may have one
        return {"concurrency_key": key, "concurrency_limit": _or(limit, self.definition.concurrency_limit)}


class JobFunction(Enqueuer[P, R], Generic[C, V, P, R]):
    """A typed function that is also a kind of job; called, it is the plain function."""

    __name__: str
    __qualname__: str

    def __init__(self, clients: Clients, definition: JobDefinition) -> None:
        super().__init__(clients, definition, {})
        functools.update_wrapper(self, definition.handler)

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> V:
        value: V = self.definition.handler(*args, **kwargs)
        return value

    def __repr__(self) -> str:
        return f"<job {self.definition.kind}>"

    def __reduce__(self) -> str:
        return global_name(self)


class JobDecorator:
    """Makes typed functions kinds of job: `@app.job`, or `@app.job(queue="mail", timeout=30)`.

    A first parameter `ctx: JobContext` gets the job's context; the others, or the one model, are the payload.

    kind                its name; the function's own, unless one is given
    queue               the queue of its jobs (`default`)
    priority            larger is sooner, -32768 to 32767 (0)
    max_attempts        how many attempts it has, 1 to 32767 (5, or what the policy says)
    retry               a RetryPolicy, or the name of a preset: how long to wait after a failure
    timeout             how many seconds the handler may run, 0.001 to 2000000 (no limit)
    isolation           where it runs: `loop`, `thread`, `process`; `auto` is the loop for what is async, else
                        a thread
    concurrency_key     a field of the payload, or a function of it: jobs with one key take turns
    concurrency_limit   how many of them run at a time, 1 to 1000 (1)

    All but kind, isolation and where the key comes from can be said otherwise for one job, with `.options`.
    """

    def __init__(self, clients: Clients, registry: Registry, **options: Any) -> None:
        self._clients = clients
        self._registry = registry
        self._options = options

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Coroutine[Any, Any, R]], /
    ) -> JobFunction[Concatenate[JobContext, P], Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> JobFunction[P, Coroutine[Any, Any, R], P, R]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], R], /
    ) -> JobFunction[Concatenate[JobContext, P], R, P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> JobFunction[P, R, P, R]: ...

    @overload
    def __call__(
        self,
        /,
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
    ) -> "JobDecorator": ...

    def __call__(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        refuse_unknown(options, _KIND_OPTIONS)
        said = {**self._options, **options}
        if function is None:
            return JobDecorator(self._clients, self._registry, **said)
        definition = JobDefinition.from_function(function, **said)
        refuse_reserved(queue=definition.queue, kind=definition.kind)
        return JobFunction(self._clients, self._registry.add(definition))

    vars(__call__)["__signature__"] = shown_signature(__call__, JobDefinition.from_function)


def global_name(function: object) -> str:
    """What pickle looks for in its module, as for any function: so another process finds its own."""
    return getattr(function, "__qualname__", repr(function))


def _called(encode: Callable[..., T], kind: JobDefinition, payload: Any) -> T:
    """What `encode` makes of a payload as `enqueue_many` takes it."""
    if kind.payload_type is None and isinstance(payload, Mapping):
        return encode(**payload)
    return encode(*(payload if isinstance(payload, tuple) else (payload,)))


def _or(said: T | None, default: T) -> T:
    return default if said is None else said


def _unless_default(policy: RetryPolicy) -> RetryPolicy | None:
    """None for the default delays, which the database knows without being told."""
    default = RetryPolicy()
    return None if replace(policy, max_attempts=default.max_attempts) == default else policy
