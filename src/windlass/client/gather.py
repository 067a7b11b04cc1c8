"""Enqueues of one process that come at the same time: one statement carries them, each gets its own answer.

A statement costs its round trip, its transaction and its commit, whether it brings one job or a hundred.
While one is under way, enqueues for the same lane wait for it and then go together; an enqueue that
meets no other goes at once and by itself.  Lanes do not wait for each other, because somebody else's
open transaction may hold one up.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from windlass.db.call import Call
from windlass.db.rpc_enqueue import EnqueueCall, Enqueued, Lane, enqueue_together
from windlass.errors import Unavailable, WindlassError

__all__ = ["Gatherer"]

MAX_JOBS = 200
MAX_CHARACTERS = 4 * 1024 * 1024

Waiting: TypeAlias = tuple[EnqueueCall, "asyncio.Future[Enqueued]"]


class Gatherer:
    """On one event loop; `run` carries out a call on a connection of its own."""

    def __init__(self, run: Callable[[Call[Any]], Coroutine[Any, Any, Any]]) -> None:
        self._run = run
        # A lane is in here while a statement for it is under way.
        self._waiting: dict[Lane, list[Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def enqueue(self, call: EnqueueCall) -> Enqueued:
        """Carry out one enqueue, alone or with others; its answer or its error is its own."""
        if (waiting := self._waiting.get(call.lane)) is not None:
            answer: asyncio.Future[Enqueued] = asyncio.get_running_loop().create_future()
            waiting.append((call, answer))
            return await answer
        self._waiting[call.lane] = []
        try:
            alone: Enqueued = await self._run(call)
            return alone
        finally:
            self._go_on(call.lane)

    def _go_on(self, lane: Lane) -> None:
        """A statement has ended: the next one takes whoever waits."""
        waiting = [one for one in self._waiting.pop(lane) if not one[1].done()]  # the rest were canceled
        if not waiting:
            return
        count = _how_many(waiting)
        self._waiting[lane] = waiting[count:]
        task = asyncio.get_running_loop().create_task(self._carry(lane, waiting[:count]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, lane: Lane, batch: list[Waiting]) -> None:
        try:
            await self._answer(batch)
            await asyncio.sleep(0)  # so that those who were answered and go on go with the next
        except Exception as error:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
        finally:
            for _, answer in batch:
                answer.cancel()  # nothing to those that are answered; the loop is ending for the others
            self._go_on(lane)

    async def _answer(self, batch: list[Waiting]) -> None:
        try:
            found: list[Enqueued] = await self._run(enqueue_together([call for call, _ in batch]))
        except Unavailable:
            raise
        except WindlassError:
            await self._answer_each(batch)
        else:
            for (_, answer), one in zip(batch, found, strict=True):
                if not answer.done():
                    answer.set_result(one)

    async def _answer_each(self, batch: list[Waiting]) -> None:
        """One of them is refused, and nobody knows which: so each by itself."""
        for call, answer in batch:
            try:
                one: Enqueued = await self._run(call)
            except Exception as error:
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(one)


def _how_many(waiting: list[Waiting]) -> int:
    """How many of them go into one statement."""
    length = 0
    for count, (call, _) in enumerate(waiting[:MAX_JOBS]):
        length += len(call.payload)
        if count and length > MAX_CHARACTERS:
            return count
    return min(len(waiting), MAX_JOBS)
