"""One source for two faces: an operation says what it needs, a driver does it, awaiting or not.

An operation is a generator.  It yields effects (a call, a few calls in one transaction, a pause, an
item for whoever iterates), is sent what came of each, and returns its value.  An error of an effect is
raised inside the operation, which may catch it.  Only the drivers below exist twice.
"""

import asyncio
import functools
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from windlass.db.call import Call
from windlass.errors import Unavailable

__all__ = [
    "AsyncCarrier",
    "Carrier",
    "Effect",
    "Item",
    "Operation",
    "Pause",
    "Together",
    "asking",
    "asynchronous",
    "iterating",
    "iterating_async",
    "repeating",
    "run_effects",
    "run_effects_async",
    "synchronous",
]

T = TypeVar("T")
P = ParamSpec("P")

_FIRST_DELAY, _LONGEST_DELAY = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Together:
    """Calls that commit together or not at all; what comes back is the list of their answers.

    They may be iterated more than once, and slowly: a call is carried out while the next is made.
    """

    calls: Iterable[Call[Any]]


@dataclass(frozen=True, slots=True)
class Item:
    """One value for whoever iterates over the operation."""

    value: Any


Effect: TypeAlias = Call[Any] | Together | Pause | Item
Operation: TypeAlias = Generator[Effect, Any, T]


class Carrier(Protocol):
    """What carries calls to the database: a pool of ours, or a caller's connection."""

    def run(self, call: Call[T]) -> T: ...

    def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]: ...


class AsyncCarrier(Protocol):
    async def run(self, call: Call[T]) -> T: ...

    async def run_together(self, calls: Iterable[Call[Any]]) -> list[Any]: ...


def asking(call: Call[T]) -> Operation[T]:
    """Carry out a call once: for what must not happen twice."""
    answer: T = yield call
    return answer


def repeating(effect: Effect, patience: float) -> Operation[Any]:
    """Carry out a read, or a change that says the same twice, again while the database is not there.

    For `patience` seconds, unless waiting mends nothing; a connection that dies during a commit leaves open
    what was committed, so whatever goes through here must be safe to be said again.
    """
    deadline, delay = time.monotonic() + patience, _FIRST_DELAY
    while True:
        try:
            answer = yield effect
        except Unavailable as error:
            if error.lasting or time.monotonic() + delay >= deadline:
                raise
        else:
            return answer
        yield Pause(delay * random.uniform(0.5, 1.0))
        delay = min(2 * delay, _LONGEST_DELAY)


def run_effects(operation: Operation[T], carrier: Carrier) -> T:
    """Drive an operation to its value, blocking."""
    try:
        effect = next(operation)
        while True:
            try:
                answer = _carry_out(effect, carrier)
            except Exception as error:
                effect = operation.throw(error)
            else:
                effect = operation.send(answer)
    except StopIteration as done:
        value: T = done.value
        return value


async def run_effects_async(operation: Operation[T], carrier: AsyncCarrier) -> T:
    """Drive an operation to its value on the running event loop."""
    try:
        effect = next(operation)
        while True:
            try:
                answer = await _carry_out_async(effect, carrier)
            except Exception as error:
                effect = operation.throw(error)
            else:
                effect = operation.send(answer)
    except StopIteration as done:
        value: T = done.value
        return value


def _carry_out(effect: Effect, carrier: Carrier) -> Any:
    match effect:
        case Call():
            return carrier.run(effect)
        case Together(calls):
            return carrier.run_together(calls)
        case Pause(seconds):
            time.sleep(seconds)
    return None


async def _carry_out_async(effect: Effect, carrier: AsyncCarrier) -> Any:
    match effect:
        case Call():
            return await carrier.run(effect)
        case Together(calls):
            return await carrier.run_together(calls)
        case Pause(seconds):
            await asyncio.sleep(seconds)
    return None


def asynchronous(
    method: Callable[Concatenate[Any, P], Operation[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The awaitable face of a method that makes an operation.

    The class that has the face has the method's object as `_operations`, and `_run`, which drives one.
    """

    @functools.wraps(method)
    async def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        value: T = await self._run(method(self._operations, *args, **kwargs))
        return value

    return face


def synchronous(
    method: Callable[Concatenate[Any, P], Operation[T]],
) -> Callable[Concatenate[Any, P], T]:
    """The blocking face of a method that makes an operation."""

    @functools.wraps(method)
    def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        value: T = self._run(method(self._operations, *args, **kwargs))
        return value

    return face


def iterating_async(
    method: Callable[Concatenate[Any, P], Operation[None]], _item: type[T]
) -> Callable[Concatenate[Any, P], AsyncIterator[T]]:
    """The face of a method whose operation hands out items, for `async for`."""

    @functools.wraps(method)
    async def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        operation = method(self._operations, *args, **kwargs)
        while (item := await self._run(_until_item(operation))) is not None:
            yield item.value

    return face


def iterating(
    method: Callable[Concatenate[Any, P], Operation[None]], _item: type[T]
) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """The same for `for`."""

    @functools.wraps(method)
    def face(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        operation = method(self._operations, *args, **kwargs)
        while (item := self._run(_until_item(operation))) is not None:
            yield item.value

    return face


def _until_item(operation: Operation[None]) -> Operation[Item | None]:
    """Drive an operation up to its next item; None at its end."""
    step: Callable[[], Effect] = functools.partial(next, operation)
    while True:
        try:
            effect = step()
        except StopIteration:
            return None
        if isinstance(effect, Item):
            return effect
        try:
            answer = yield effect
        except Exception as error:
            step = functools.partial(operation.throw, error)
        else:
            step = functools.partial(operation.send, answer)
