"""Handlers on the event loop, one behind the other for as long as none of them has to wait."""

import asyncio
import contextvars
import sys
from collections import deque
from collections.abc import Callable
from typing import cast
from weakref import getweakrefcount

from windlass.telemetry import mark_running
from windlass.worker.attempt import Attempt
from windlass.worker.hand_over import take_all
from windlass.worker.handler import run_async
from windlass.worker.leases import elapsed_clock
from windlass.worker.words import Limits, Word, word_for_error

__all__ = ["Line"]

SLICE_SECONDS = 0.002
"""How long handlers may follow each other before the loop gets a turn."""
SHARES_TASKS = sys.implementation.name == "cpython"
"""Elsewhere nobody counts references, and so nobody could say what a handler left to its task."""
_MAX_ALONE = 64


class Line:
    """Runs attempts in the order in which they were added; `end` is called with each and its word.

    A task of its own is the dearest part of a short job, and only a handler that waits has a use for it.
    So one task calls handler after handler.  The first that waits keeps that task, as if it had been made
    for it (`waits` is told), and another takes over.  A handler that leaves something in its context, or
    kept by its task, or a cancellation unheard, or another name, is the last of its task too: no job finds
    any of another.  What such jobs do share is the name itself: a fresh one costs more than it tells.

    Kinds that waited get tasks of their own from `alone` for a while, the longer the more often they wait.
    """

    def __init__(
        self,
        scope: contextvars.Context,
        worker_id: str,
        limits: Limits,
        *,
        alone: Callable[[Attempt], None],
        waits: Callable[[Attempt], None],
        end: Callable[[Attempt, Word | None], None],
        ended: Callable[[int], None],
    ) -> None:
        self._scope = scope
        self._worker_id = worker_id
        self._limits = limits
        self._alone = alone
        self._waits = waits
        self._end = end
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._current: Attempt | None = None
        self._attempts: deque[Attempt] = deque()
        self._untold = 0
        self._habits: dict[str, _Habit] = {}

    def add(self, attempt: Attempt) -> None:
        """Run this one, after those that were added before."""
        habit = self._habits.get(attempt.job.kind)
        if not SHARES_TASKS or (habit is not None and not habit.tries()):
            self._alone(attempt)
            return
        self._attempts.append(attempt)
        if self._task is None:
            self._begin()

    def take_unbegun(self) -> list[Attempt]:
        """From any thread: those whose handlers were not called, which are not called any more then."""
        return take_all(self._attempts)

    def _begin(self) -> None:
        # Not by the loop's factory: a task that begins at once, inside of this call, would begin too soon.
        self._task = asyncio.Task(self._run(), loop=self._loop, context=self._scope.copy())
        self._loop.call_soon(self._look, self._task)

    async def _run(self) -> None:
        task, until = cast("asyncio.Task[None]", self._task), elapsed_clock() + SLICE_SECONDS
        weak, name, getrefcount = getweakrefcount(task), task.get_name(), sys.getrefcount
        while self._attempts and (now := elapsed_clock()) < until:
            try:
                attempt = self._attempts.popleft()
            except IndexError:  # somebody has taken it since we looked
                break
            if attempt.was_told() or attempt.said:  # stopped before it began
                self._close(attempt, None)
            else:
                attempt.task, attempt.started, self._current = task, now, attempt
                mark_running(self._worker_id, attempt.job)
                before, strong = contextvars.copy_context(), getrefcount(task)
                word = await self._call(attempt, task)
                # Sessions and the like are kept by `current_task()`, and whatever keeps them holds the task.
                alone = (getrefcount(task), getweakrefcount(task)) == (strong, weak)
                if self._task is not task:  # it waited, and another task has the line
                    self._end(attempt, word)
                    self._ended(1)
                    return
                self._close(attempt, word)
                attempt.task = None
                alone = alone and not getattr(task, "_callbacks", None) and task.get_name() == name
                if task.cancelling() or not alone or not _unchanged(before):
                    self._note_waited(attempt)
                    return
                if self._habits:
                    self._habits.pop(attempt.job.kind, None)
            if not self._attempts:
                self._tell_ended()

    async def _call(self, attempt: Attempt, task: "asyncio.Task[None]") -> Word | None:
        try:
            word = await run_async(
                attempt.definition, attempt.job, attempt.context, self._limits, attempt.lease.now
            )
            if task.cancelling():
                await asyncio.sleep(0)  # where the handler canceled its own task and did not wait for that
        except asyncio.CancelledError:
            return None
        except BaseException as error:  # KeyboardInterrupt: it ends the loop, but not without a word
            self._close(attempt, word_for_error(attempt.job, error, self._limits))
            raise
        return word

    def _look(self, task: "asyncio.Task[None]") -> None:
        """Right behind a task's first step: either all in it are done with, or a handler waits."""
        self._task = None
        current, self._current = self._current, None
        if current is not None and not task.done():
            self._note_waited(current)
            self._waits(current)
            for attempt in self.take_unbegun():  # which may be of the same kind
                self.add(attempt)
        elif not task.cancelled():
            task.exception()  # KeyboardInterrupt, which the loop has raised already
        self._tell_ended()
        if self._attempts and self._task is None:
            self._begin()

    def _close(self, attempt: Attempt, word: Word | None) -> None:
        self._untold += 1
        self._end(attempt, word)

    def _tell_ended(self) -> None:
        untold, self._untold = self._untold, 0
        if untold:
            self._ended(untold)

    def _note_waited(self, attempt: Attempt) -> None:
        self._habits.setdefault(attempt.job.kind, _Habit())


class _Habit:
    """A kind that was seen to wait.  After a while, longer each time, one is tried in the line again."""

    __slots__ = ("_left", "_next")

    def __init__(self) -> None:
        self._left = self._next = 1

    def tries(self) -> bool:
        if self._left > 0:
            self._left -= 1
            return False
        self._left = self._next = min(_MAX_ALONE, 2 * self._next)
        return True


def _unchanged(before: contextvars.Context) -> bool:
    """Whether nothing was set in this context; equal by identity in all but strange cases, so it is quick."""
    try:
        return contextvars.copy_context() == before
    except Exception:  # of a value that cannot be compared
        return False
