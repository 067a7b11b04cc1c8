"""The attempts that run here, on the loop, in threads or in child processes, and how they are stopped."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from windlass.client.detours import Detours
from windlass.model import ClaimedJob
from windlass.telemetry import mark_node, mark_running
from windlass.worker.attempt import Attempt
from windlass.worker.children import Children
from windlass.worker.context import JobContext, StopReason
from windlass.worker.costs import Record, refuse_entry
from windlass.worker.handler import run_async, run_sync
from windlass.worker.leases import Lease, elapsed_clock
from windlass.worker.line import Line
from windlass.worker.registry import Registry
from windlass.worker.threads import Threads
from windlass.worker.words import Limits, Word, word_for_error

__all__ = ["Attempts"]

STUBBORN_SECONDS = 5.0
"""How long a canceled coroutine may take to end before its job is spoken of without it."""
IMPORT_SECONDS = 60.0
"""How long a child may take, beyond the timeout of its job, to start and to import the handler."""


class Attempts:
    """Starts and stops attempts; `say` gets the last word on each, None where nothing may be said."""

    def __init__(
        self,
        registry: Registry,
        concurrency: int,
        worker_id: str,
        limits: Limits,
        fault: Callable[[str, BaseException], None],
        detours: Detours | None = None,
        *,
        say: Callable[[Attempt, Word | None], None],
        ended: Callable[[int], None],
        record: Record = refuse_entry,
        node_id: UUID | None = None,
    ) -> None:
        self._registry = registry
        self._record = record
        self._worker_id = worker_id
        self._limits = limits
        self._say = say
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._scope = contextvars.copy_context()
        if node_id is not None:
            self._scope.run(mark_node, node_id)
        self._threads = Threads(concurrency, fault)
        self._children = Children(detours or {})
        self._line = Line(
            self._scope,
            worker_id,
            limits,
            alone=self._start_alone,
            waits=self._set_timer,
            end=self._end,
            ended=ended,
        )
        self._returned: deque[tuple[Attempt, Word | BaseException | None]] = deque()
        self._woken = False
        self._busy: set[Attempt] = set()
        self._unsaid = 0
        self._quiet, self._settled = asyncio.Event(), asyncio.Event()
        self._quiet.set()
        self._settled.set()

    @property
    def busy(self) -> int:
        """Slots taken, those of handlers that outlived their attempt included."""
        return len(self._busy)

    @property
    def stuck(self) -> int:
        """Handlers that outlived their attempt: threads, which nobody can stop, and deaf coroutines."""
        return sum(attempt.said for attempt in self._busy)

    @property
    def running(self) -> list[ClaimedJob]:
        return [attempt.job for attempt in self._busy if not attempt.said]

    @property
    def child_pids(self) -> list[int]:
        return self._children.pids

    async def quiet(self) -> None:
        """A probe: wait until no handler runs."""
        await self._quiet.wait()

    async def settled(self) -> None:
        """A probe: wait until the last word on every attempt is said, be it over its handler's head."""
        await self._settled.wait()

    def start(self, job: ClaimedJob, lease: Lease) -> Attempt:
        """Run one job.  What its handler sets in the context of the call ends with the call."""
        definition = self._registry.get(job.kind)
        context = None
        if definition.wants_context and definition.room != "process":
            context = JobContext(
                job,
                self._worker_id,
                max_result_bytes=self._limits.result_bytes,
                results=definition.results,
                record=self._record,
            )
        attempt = Attempt(job, definition, lease, context, self._record)
        if not self._busy:
            self._quiet.clear()
        if not self._unsaid:
            self._settled.clear()
        self._busy.add(attempt)
        self._unsaid += 1
        if definition.room == "loop":
            self._line.add(attempt)
        else:
            self._start_in_thread(attempt)
        return attempt

    def _start_alone(self, attempt: Attempt) -> None:
        call = run_async(attempt.definition, attempt.job, attempt.context, self._limits, attempt.lease.now)
        attempt.task = self._loop.create_task(call, context=self._scope_for(attempt))
        attempt.task.add_done_callback(partial(self._task_done, attempt))
        self._set_timer(attempt)

    def _start_in_thread(self, attempt: Attempt) -> None:
        if attempt.definition.room == "process":  # there, the time begins when the handler does
            attempt.on_begun = partial(self._call_soon, self._set_timer, attempt)
            self._set_timer(attempt, IMPORT_SECONDS)
        self._threads.run(partial(self._in_thread, attempt, self._scope_for(attempt)))
        if attempt.definition.room == "thread":
            self._set_timer(attempt)

    def _scope_for(self, attempt: Attempt) -> contextvars.Context:
        scope = self._scope.copy()
        scope.run(mark_running, self._worker_id, attempt.job)
        return scope

    def _set_timer(self, attempt: Attempt, more: float = 0.0) -> None:
        timeout = attempt.definition.timeout if attempt.job.timeout is None else attempt.job.timeout
        if timeout is not None and not attempt.handled and attempt in self._busy:
            if attempt.timer is not None:
                attempt.timer.cancel()
            left = max(0.0, attempt.started + timeout + more - elapsed_clock())
            attempt.timer = self._loop.call_later(left, self.stop, attempt, "timed_out")

    def _in_thread(self, attempt: Attempt, scope: contextvars.Context) -> None:
        """Waking the loop is dear: it is done once for all that return before it looks."""
        outcome: Word | BaseException | None
        try:
            outcome = scope.run(self._run_in_thread, attempt)
        except BaseException as error:
            outcome = error
        self._returned.append((attempt, outcome))
        if not self._woken:
            self._woken = True
            self._call_soon(self._take_returned)

    def _run_in_thread(self, attempt: Attempt) -> Word | None:
        if attempt.definition.room == "process":
            return attempt.run_in_child(self._children, self._worker_id, self._limits)
        job, lease, attempt.called = attempt.job, attempt.lease, True
        return run_sync(attempt.definition, job, attempt.context, self._limits, lease.now)

    def _call_soon(self, *call: Any) -> None:
        with suppress(RuntimeError):  # of a closed loop: a thread that outlived its worker can tell nobody
            self._loop.call_soon_threadsafe(*call)

    def _task_done(self, attempt: Attempt, task: "asyncio.Task[Word]") -> None:
        if task.cancelled():
            self._done(attempt, None)
        else:
            error = task.exception()
            self._done(attempt, task.result() if error is None else error)
        self._ended(1)

    def _take_returned(self) -> None:
        self._woken = False  # first, so that whoever returns from now on wakes the loop again
        count = 0
        while self._returned:
            self._done(*self._returned.popleft())
            count += 1
        if count:
            self._ended(count)

    def _done(self, attempt: Attempt, outcome: Word | BaseException | None) -> None:
        if isinstance(outcome, BaseException):
            outcome = word_for_error(attempt.job, outcome, self._limits)
        self._end(attempt, outcome)

    def _end(self, attempt: Attempt, word: Word | None) -> None:
        if attempt.timer is not None:
            attempt.timer.cancel()
        self._busy.discard(attempt)
        if not self._busy:
            self._quiet.set()
        if not attempt.said:
            stopped = word is None or attempt.was_told()
            self._speak(attempt, self._judge(attempt, word) if stopped else word)

    def _judge(self, attempt: Attempt, word: Word | None) -> Word | None:
        """The handler's word, unless the attempt was stopped and that weighs more."""
        reason = attempt.reason
        if reason in ("lease_lost", "timed_out") or (reason is not None and word is None):
            return attempt.stop_word(reason)
        if word is None:
            error = asyncio.CancelledError("the handler was canceled, but not by Windlass")
            return word_for_error(attempt.job, error, self._limits)
        return word

    def _speak(self, attempt: Attempt, word: Word | None) -> None:
        attempt.said = True
        self._unsaid -= 1
        if not self._unsaid:
            self._settled.set()
        if word is not None and (attempt.begun or word.verb != "release"):
            word.seconds = elapsed_clock() - attempt.started
        self._say(attempt, word)

    def matching(self, tokens: Iterable[bytes]) -> list[Attempt]:
        """The attempts under these leases of which nothing is said yet; from any thread."""
        wanted = set(tokens)
        return [
            attempt for attempt in tuple(self._busy) if attempt.job.token_bytes in wanted and not attempt.said
        ]

    def stop(self, attempt: Attempt, reason: StopReason) -> None:
        """Stop one attempt.  The first reason stays, but none weighs more than a lost lease."""
        if attempt.said or (attempt.handled and reason != "lease_lost"):
            return
        if attempt.definition.room == "thread" and reason in ("cancel_requested", "gate_closed"):
            attempt.warn(reason)  # all that can be done: the handler may heed it, its timeout still counts
            return
        if attempt.task is not None and attempt.task.done():
            return  # it ended by itself just now, and its own word is on its way
        attempt.handled = True
        attempt.warn(reason)
        if reason == "lease_lost":
            attempt.reason = reason
        if attempt.timer is not None:
            attempt.timer.cancel()
        if attempt.task is not None:
            attempt.task.cancel()
            attempt.timer = self._loop.call_later(STUBBORN_SECONDS, self.give_up, attempt)
        elif attempt.definition.room == "thread":
            self.give_up(attempt)

    def stop_all(self, reason: StopReason) -> None:
        for attempt in tuple(self._busy):
            self.stop(attempt, reason)

    def give_up(self, attempt: Attempt) -> None:
        """Speak of a stopped attempt although its handler has not ended; what that says later is dropped."""
        if not attempt.said:
            self._speak(attempt, attempt.stop_word(attempt.reason or "shutdown"))

    def give_up_all(self) -> None:
        for attempt in tuple(self._busy):
            self.give_up(attempt)

    def close(self) -> None:
        self._threads.close()
        self._children.close()
