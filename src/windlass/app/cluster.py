"""Typed functions as cluster jobs: the local work of every node, and the leader's action behind it."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar, Unpack, overload

from windlass.app.action import action_definition, summarizing_action
from windlass.app.function import Clients, global_name
from windlass.app.options import options_of, refuse_unknown
from windlass.client import JobHandle, SyncJobHandle, TenantName
from windlass.cluster.context import LeaderContext
from windlass.cluster.kinds import ClusterKind, ClusterKinds
from windlass.model import NewJob, RetryPolicy
from windlass.model.cluster import CLUSTER_QUEUE, NewClusterJob, OnCrash, OnTimeout, Quorum
from windlass.worker.context import JobContext
from windlass.worker.registry import Isolation, JobDefinition

__all__ = ["ClusterDecorator", "ClusterFunction", "ClusterOptions", "LeaderDecorator", "LeaderFunction"]

C = ParamSpec("C")  # how the plain function is called
V = TypeVar("V")  # what that call gives
P = ParamSpec("P")  # the payload: the same parameters without the context
A = TypeVar("A", bound=Callable[..., Any])

_LEADER_OPTIONS = options_of(action_definition)


class ClusterOptions(TypedDict, total=False):
    """What a creation may say beyond the payload; whatever is left out is as the kind has it."""

    tenant: TenantName | None
    connection: Any
    key: str | None
    quorum: Quorum
    quorum_timeout: float
    on_timeout: OnTimeout
    priority: int
    correlation_id: str | None


class Creator(Generic[P]):
    """Creates cluster jobs of one kind, with the options collected so far."""

    def __init__(self, clients: Clients, kind: ClusterKind, options: ClusterOptions) -> None:
        self._clients = clients
        self._options = options
        self.cluster_kind = kind

    def options(self, **options: Unpack[ClusterOptions]) -> "Creator[P]":
        """The same kind with other options: `compact.options(key="nightly").create(...)`."""
        refuse_unknown(options, ClusterOptions.__annotations__)
        return Creator(self._clients, self.cluster_kind, {**self._options, **options})

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewClusterJob:
        """What a creation would send, checked."""
        kind, said = self.cluster_kind, self._options
        definition = kind.local or kind.action
        retry = kind.action.retry
        return NewClusterJob(
            job=NewJob(
                kind=kind.kind,
                payload=definition.encode_payload(*args, **kwargs),
                queue=CLUSTER_QUEUE,
                priority=said.get("priority", 0),
                key=said.get("key"),
                scope="active",
                max_attempts=retry.max_attempts,
                retry=retry,
                correlation_id=said.get("correlation_id"),
            ),
            local=kind.local is not None,
            quorum=said.get("quorum", kind.quorum),
            quorum_timeout=said.get("quorum_timeout", kind.quorum_timeout),
            on_timeout=said.get("on_timeout", kind.on_timeout),
            on_crash=kind.on_crash,
            part_retry=None if kind.local is None else kind.local.retry,
        )

    async def create(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[Any]:
        """Create one job with this payload; its handle waits for what the leader's action returns."""
        connection = self._options.get("connection")
        client = self._clients.client if connection is None else self._clients.client.using(connection)
        return await client.create_cluster_job(self.new(*args, **kwargs), tenant=self._options.get("tenant"))

    def create_sync(self, *args: P.args, **kwargs: P.kwargs) -> SyncJobHandle[Any]:
        """Create one job with this payload, blocking."""
        connection = self._options.get("connection")
        client = self._clients.sync if connection is None else self._clients.sync.using(connection)
        return client.create_cluster_job(self.new(*args, **kwargs), tenant=self._options.get("tenant"))


class ClusterFunction(Creator[P], Generic[C, V, P]):
    """A typed function that is the local work of a cluster job; called, it is the plain function."""

    __name__: str
    __qualname__: str

    def __init__(self, clients: Clients, kind: ClusterKind, definition: JobDefinition) -> None:
        super().__init__(clients, kind, {})
        self.definition = definition
        functools.update_wrapper(self, definition.handler)

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> V:
        value: V = self.definition.handler(*args, **kwargs)
        return value

    def __reduce__(self) -> str:
        return global_name(self)

    def leader(
        self,
        *,
        max_attempts: int | None = None,
        retry: RetryPolicy | str | None = None,
        timeout: float | None = None,
        isolation: Isolation = "auto",
    ) -> Callable[[A], A]:
        """Say what the leader does once the parts are done: `@compact.leader()`.

        A first parameter `ctx: LeaderContext` gets the term and what the parts came to; the others are the
        payload, as the local work has it.  What the kind says of its parts does not hold for the action.
        """

        def declare(function: A) -> A:
            self.cluster_kind.action = action_definition(
                self._clients,
                function,
                kind=self.cluster_kind.kind,
                max_attempts=max_attempts,
                retry=retry,
                timeout=timeout,
                isolation=isolation,
            )
            return function

        return declare


class LeaderFunction(Creator[P], Generic[C, V, P]):
    """A typed function that only the leader runs; called, it is the plain function."""

    def __init__(self, clients: Clients, kind: ClusterKind, function: Callable[C, V]) -> None:
        super().__init__(clients, kind, {})
        self._function = function
        functools.update_wrapper(self, function)
        self.definition = kind.action

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> V:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> str:
        return global_name(self)


class ClusterDecorator:
    """Makes typed functions the local work of cluster jobs: `@app.cluster_job()`, with options if need be."""

    def __init__(self, clients: Clients, kinds: ClusterKinds) -> None:
        self._clients = clients
        self._kinds = kinds

    def __call__(
        self,
        *,
        kind: str | None = None,
        quorum: Quorum = "majority",
        quorum_timeout: float = 10.0,
        on_timeout: OnTimeout = "proceed",
        on_crash: OnCrash = "requeue",
        max_attempts: int | None = None,
        retry: RetryPolicy | str | None = None,
        timeout: float | None = None,
        isolation: Isolation = "auto",
    ) -> "LocalDecorator":
        """`max_attempts`, `retry`, `timeout` and `isolation` are those of each node's part."""
        work = {"max_attempts": max_attempts, "retry": retry, "timeout": timeout, "isolation": isolation}
        handling = {
            "quorum": quorum,
            "quorum_timeout": quorum_timeout,
            "on_timeout": on_timeout,
            "on_crash": on_crash,
        }
        return LocalDecorator(self._clients, self._kinds, kind, work, handling)


class LocalDecorator:
    """`@app.cluster_job(...)` with its options given."""

    def __init__(
        self,
        clients: Clients,
        kinds: ClusterKinds,
        kind: str | None,
        work: dict[str, Any],
        handling: dict[str, Any],
    ) -> None:
        self._clients = clients
        self._kinds = kinds
        self._kind = kind
        self._work = work
        self._handling = handling

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Coroutine[Any, Any, Any]], /
    ) -> ClusterFunction[Concatenate[JobContext, P], Coroutine[Any, Any, Any], P]: ...

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, Any]], /
    ) -> ClusterFunction[P, Coroutine[Any, Any, Any], P]: ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Any], /
    ) -> ClusterFunction[Concatenate[JobContext, P], Any, P]: ...

    @overload
    def __call__(self, function: Callable[P, Any], /) -> ClusterFunction[P, Any, P]: ...

    def __call__(self, function: Callable[..., Any], /) -> Any:
        local = JobDefinition.from_function(function, kind=self._kind, queue=CLUSTER_QUEUE, **self._work)
        action = summarizing_action(self._clients, local)
        kind = self._kinds.add(ClusterKind(local.kind, local, action, **self._handling))
        return ClusterFunction(self._clients, kind, local)


class LeaderDecorator:
    """Makes typed functions jobs that only the leader runs: `@app.leader_job()`."""

    def __init__(self, clients: Clients, kinds: ClusterKinds, **options: Any) -> None:
        self._clients = clients
        self._kinds = kinds
        self._options = options

    @overload
    def __call__(
        self,
        /,
        *,
        kind: str | None = None,
        max_attempts: int | None = None,
        retry: RetryPolicy | str | None = None,
        timeout: float | None = None,
        isolation: Isolation = "auto",
    ) -> "LeaderDecorator": ...

    @overload
    def __call__(
        self, function: Callable[Concatenate[LeaderContext, P], V], /
    ) -> LeaderFunction[Concatenate[LeaderContext, P], V, P]: ...

    @overload
    def __call__(self, function: Callable[P, V], /) -> LeaderFunction[P, V, P]: ...

    def __call__(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        refuse_unknown(options, _LEADER_OPTIONS)
        said = {**self._options, **options}
        if function is None:
            return LeaderDecorator(self._clients, self._kinds, **said)
        action = action_definition(self._clients, function, **said)
        kind = self._kinds.add(ClusterKind(action.kind, None, action))
        return LeaderFunction(self._clients, kind, function)
