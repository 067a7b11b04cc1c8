"""A leader's action as the handler of a job: it begins by asking whether it still may, and in which term."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import replace
from inspect import Parameter
from typing import Any

from windlass.app.function import Clients
from windlass.cluster.context import LeaderContext
from windlass.db.rpc_cluster import Begun
from windlass.errors import NotLeader
from windlass.model import ClaimedJob, RetryPolicy, Snooze
from windlass.model.cluster import CLUSTER_QUEUE
from windlass.worker.context import JobContext
from windlass.worker.payload import bare_function
from windlass.worker.registry import Isolation, JobDefinition, refuse_method, refuse_unreachable

__all__ = ["action_definition", "summarizing_action"]


def action_definition(
    clients: Clients,
    function: Callable[..., Any],
    *,
    kind: str | None = None,
    max_attempts: int | None = None,
    retry: RetryPolicy | str | None = None,
    timeout: float | None = None,
    isolation: Isolation = "auto",
) -> JobDefinition:
    """The definition of a leader's action, whose first parameter may be a LeaderContext."""
    kind = getattr(function, "__name__", "") if kind is None else kind
    refuse_method(function, kind)
    if isolation == "process":
        refuse_unreachable(function, kind)
    parameters = list(inspect.signature(function).parameters.values())
    hints = typing.get_type_hints(bare_function(function), include_extras=True)
    wants_context = bool(parameters) and _is_context(parameters[0], hints)
    payload = parameters[1:] if wants_context else parameters
    handler = _beginning(clients, function, wants_context)
    _shape(handler, function, payload, hints)
    definition = JobDefinition.from_function(
        handler,
        kind=kind,
        queue=CLUSTER_QUEUE,
        max_attempts=max_attempts,
        retry=retry,
        timeout=timeout,
        isolation=isolation,
    )
    return _reachable(clients, function, definition) if isolation == "process" else definition


def _reachable(clients: Clients, function: Callable[..., Any], definition: JobDefinition) -> JobDefinition:
    """The same for a child process, which finds the function by its name and cannot ask for the term."""

    def prepare(job: ClaimedJob) -> Begun | Snooze:
        try:
            return clients.sync.begin_action(job.token, job.id)
        except NotLeader:
            return _handed_over()

    definition = replace(definition, prepare=prepare)
    vars(function)["definition"] = definition
    return definition


def summarizing_action(clients: Clients, local: JobDefinition) -> JobDefinition:
    """The action of a kind that has none: it tells how many parts are done, of how many."""

    async def summarize(ctx: LeaderContext, **_payload: Any) -> dict[str, int]:
        return {"done": sum(part.done for part in ctx.parts), "parts": len(ctx.parts)}

    return action_definition(clients, summarize, kind=local.kind)


def _is_context(parameter: Parameter, hints: dict[str, Any]) -> bool:
    hint = hints.get(parameter.name, Any)
    return hint is LeaderContext or (hint is Any and parameter.name == "ctx")


def _beginning(clients: Clients, function: Callable[..., Any], wants_context: bool) -> Callable[..., Any]:
    """The function with its beginning: what it is given is read in the name of the leader."""
    if inspect.iscoroutinefunction(bare_function(function)):

        async def begin_async(ctx: JobContext, /, *args: Any, **kwargs: Any) -> Any:
            try:
                begun = ctx.prepared or await clients.client.begin_action(ctx.token, ctx.job.id)
            except NotLeader:
                return _handed_over()
            given = (LeaderContext(ctx, begun), *args) if wants_context else args
            return await function(*given, **kwargs)

        return begin_async

    def begin(ctx: JobContext, /, *args: Any, **kwargs: Any) -> Any:
        try:
            begun = ctx.prepared or clients.sync.begin_action(ctx.token, ctx.job.id)
        except NotLeader:
            return _handed_over()
        given = (LeaderContext(ctx, begun), *args) if wants_context else args
        return function(*given, **kwargs)

    return begin


def _handed_over() -> Snooze:
    """Another node leads by now: the job goes back into line for it, and no attempt is counted."""
    return Snooze(0)


def _shape(
    handler: Any, function: Callable[..., Any], payload: list[Parameter], hints: dict[str, Any]
) -> None:
    """Give the handler the function's parameters, behind a context of any job."""
    context = Parameter("_attempt", Parameter.POSITIONAL_ONLY, annotation=JobContext)
    handler.__signature__ = inspect.Signature([context, *payload])
    kept = {name: hint for name, hint in hints.items() if name in {p.name for p in payload} | {"return"}}
    handler.__annotations__ = {**kept, "_attempt": JobContext}
    handler.__name__ = getattr(function, "__name__", "action")
    handler.__qualname__ = getattr(function, "__qualname__", handler.__name__)
    handler.__module__ = getattr(function, "__module__", __name__)
    handler.__doc__ = function.__doc__
