"""Handlers on the event loop, in no more tasks than wait at once: each task calls one after the other."""

import asyncio
import contextvars
import gc
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, cast
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


class Line:
    """Runs attempts in the order in which they were added; `end` is called with each and its word.

    A task of its own is the dearest part of a short job.  So a task calls handler after handler: while none
    of them waits, one task is enough.  One whose handler waits goes on where that has returned, and others
    take over meanwhile: as many as there are attempts of kinds that waited the last time, and else one for
    each turn of the loop (`_look`).  A handler that leaves something in its context, or on its task, or kept
    by either, or a cancellation unheard, or another name, is the last of its task: no job finds any of
    another.  What such jobs do share is the name itself: a fresh one costs more than it tells.

    No attempt stays in line unseen: behind each step of a task comes a look, which opens tasks for what is
    left; and whoever adds one opens a task, unless one is about to begin, or about to go on.
    """

    def __init__(
        self,
        scope: contextvars.Context,
        worker_id: str,
        limits: Limits,
        *,
        begins: Callable[[Attempt], None],
        end: Callable[[Attempt, Word | None], None],
        ended: Callable[[int], None],
    ) -> None:
        self._scope = scope
        self._worker_id = worker_id
        self._limits = limits
        self._variables = tuple(variable for variable in scope if not variable.name.startswith("windlass_"))
        """What the worker found set by others when it began."""
        # Between two handlers the context is that of the one before.  Whoever is called there would log, and
        # set timers, under the name of that job; and must not set anything that the next one finds.
        apart: Any = scope.copy().run
        self._begins: Callable[[Attempt], None] = partial(apart, begins)
        self._end: Callable[[Attempt, Word | None], None] = partial(apart, end)
        self._ended: Callable[[int], None] = partial(apart, ended)
        self._loop = asyncio.get_running_loop()
        self._attempts: deque[Attempt] = deque()
        self._waiting_kinds: set[str] = set()
        """Those of which the last one waited."""
        self._current: Attempt | None = None
        """Whose handler was called in this turn, and has not returned."""
        self._opened = 0
        """Tasks behind whose first step nobody has looked yet."""
        self._looks = False
        """Whether a look comes at the end of this turn, in which some task has gone on."""
        self._until = 0.0
        """When the slice of this turn is over."""
        self._between = self._promised = False
        """Whether a task is between two handlers, and whether it is to go on with one that may wait."""
        self._untold = 0

    def add(self, attempt: Attempt) -> None:
        """Run this one, after those that were added before."""
        self._attempts.append(attempt)
        if self._may_wait(attempt):
            if self._between and not self._promised:
                self._promised = True
            else:
                self._open()
        elif not (self._between or self._opened):
            self._open()

    def take_unbegun(self) -> list[Attempt]:
        """From any thread: those whose handlers were not called, which are not called any more then."""
        return take_all(self._attempts)

    def _may_wait(self, attempt: Attempt) -> bool:
        return not SHARES_TASKS or attempt.job.kind in self._waiting_kinds

    def _open(self) -> None:
        # Not by the loop's factory: a task that begins at once, inside of this call, would begin too soon.
        context = self._scope.copy()
        asyncio.Task(self._run(context), loop=self._loop, context=context)
        self._opened += 1
        self._loop.call_soon(self._look_behind_first)

    async def _run(self, context: contextvars.Context) -> None:
        task = cast("asyncio.Task[Any]", asyncio.current_task(self._loop))
        name = task.get_name()  # which is made when it is asked for, and only then refers to anything
        getrefcount, getreferents = sys.getrefcount if SHARES_TASKS else id, gc.get_referents
        strong, weak, shared = getrefcount(task), getweakrefcount(task), getrefcount(context)
        referents, now, waited = len(getreferents(task)), elapsed_clock(), True
        self._begin_turn()
        while waited or now < self._until:
            try:
                attempt = self._attempts.popleft()
            except IndexError:  # there are none, or somebody has taken them
                break
            if attempt.was_told() or attempt.said:  # stopped before it began
                self._close(attempt, None)
            else:
                attempt.task, attempt.started = task, now
                mark_running(self._worker_id, attempt.job)
                before = context.copy()
                if attempt.timeout is not None:
                    self._begins(attempt)
                if self._current is not None:  # of another task, in this same turn
                    self._note_current()
                self._current = attempt
                word = await self._call(attempt)
                waited = self._current is not attempt  # then a look came between
                if waited:
                    self._begin_turn()
                else:
                    self._current = None
                    self._waiting_kinds.discard(attempt.job.kind)
                self._close(attempt, word)
                attempt.task = None
                if (
                    not SHARES_TASKS
                    # Sessions and the like are kept by `current_task()`: whatever keeps them holds the task.
                    or getrefcount(task) != strong
                    or getweakrefcount(task) != weak
                    # And what was told to go on in its context holds that.
                    or getrefcount(context) != shared
                    # Attributes and callbacks: whatever the task itself holds.
                    or len(getreferents(task)) != referents
                    or task.get_name() != name
                    or task.cancelling()
                    # Up to Python 3.12 one that was taken back before it came comes all the same.
                    or getattr(task, "_must_cancel", False)
                    or not self._unchanged(context, before)
                ):
                    self._note_waited(attempt)
                    break
            if not self._attempts:
                self._ask_for_more()
            now = elapsed_clock()
        self._tell_ended()

    async def _call(self, attempt: Attempt) -> Word | None:
        # The task is named in no variable here: the traceback of an error has them, and outlives the call.
        try:
            word = await run_async(
                attempt.definition, attempt.job, attempt.context, self._limits, attempt.lease.now
            )
            if attempt.task is not None and attempt.task.cancelling():
                await asyncio.sleep(0)  # where the handler canceled its own task and did not wait for that
        except asyncio.CancelledError:
            return None
        except (
            KeyboardInterrupt,
            SystemExit,
            GeneratorExit,
        ) as error:  # the loop's end, but not without a word
            self._close(attempt, word_for_error(attempt.job, error, self._limits))
            raise
        except BaseException as error:
            return word_for_error(attempt.job, error, self._limits)
        return word

    def _ask_for_more(self) -> None:
        """Between two handlers: what is added now is for the task that asks."""
        self._between = True
        try:
            self._tell_ended()
        finally:
            self._between = self._promised = False

    def _begin_turn(self) -> None:
        """In a step of a task: there is one slice for all steps of a turn, and a look behind them."""
        if not self._looks:
            self._looks = True
            self._until = elapsed_clock() + SLICE_SECONDS
            self._loop.call_soon(self._look_behind_turn, context=self._scope.copy())

    def _look_behind_turn(self) -> None:
        self._looks = False
        self._look()

    def _look_behind_first(self) -> None:
        """Behind the first step of a task; there was none if somebody has canceled the task before it."""
        self._opened -= 1
        self._look()

    def _look(self) -> None:
        """Whoever is in a handler still, waits; others go on with what is left."""
        self._note_current()
        try:
            self._tell_ended()
        finally:  # whatever came of that: nobody may look again before one of those who wait returns
            self._open_for_rest()

    def _open_for_rest(self) -> None:
        if len(self._attempts) > self._opened:
            some_wait = self._waiting_kinds or not SHARES_TASKS
            wanted = sum(map(self._may_wait, list(self._attempts))) if some_wait else 0
            for _ in range((wanted or 1) - self._opened):
                self._open()

    def _note_current(self) -> None:
        if self._current is not None:
            self._note_waited(self._current)
            self._current = None

    def _note_waited(self, attempt: Attempt) -> None:
        self._waiting_kinds.add(attempt.job.kind)

    def _close(self, attempt: Attempt, word: Word | None) -> None:
        self._untold += 1
        self._end(attempt, word)

    def _tell_ended(self) -> None:
        untold, self._untold = self._untold, 0
        if untold:
            self._ended(untold)

    def _unchanged(self, context: contextvars.Context, before: contextvars.Context) -> bool:
        """Whether nothing was set in it.

        The whole is compared at once, which takes no time where nothing was; but by equality, and what is
        equal may differ: of the values that were there from the start each is looked at.
        """
        try:
            if context != before:
                return False
        except Exception:  # of a value that cannot be compared
            return False
        for variable in self._variables:  # noqa: SIM110 - a generator takes five times as long
            if context[variable] is not before[variable]:
                return False
        return True
