"""The attempts that run here, on the loop, in threads or in child processes, and how they are stopped."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from types import EllipsisType
from typing import Any
from uuid import UUID

from windlass.client.detours import Detours
from windlass.model import ClaimedJob
from windlass.telemetry import mark_node, mark_running
from windlass.worker.attempt import Attempt, Outcome
from windlass.worker.children import Children
from windlass.worker.context import JobContext, StopReason
from windlass.worker.costs import Record, refuse_entry
from windlass.worker.deadlines import Deadlines
from windlass.worker.hand_over import take
from windlass.worker.handler import run_sync
from windlass.worker.leases import Lease, elapsed_clock
from windlass.worker.line import Line
from windlass.worker.registry import Registry
from windlass.worker.threads import Threads
from windlass.worker.words import Limits, Word

__all__ = ["Attempts"]


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
        self._returned: deque[tuple[Attempt, Outcome]] = deque()
        self._woken = False
        self._busy: set[Attempt] = set()
        self._deadlines = Deadlines(self._busy, self._stop_overdue)
        expect = self._deadlines.expect
        self._line = Line(self._scope, worker_id, limits, begins=expect, end=self._end_on_loop, ended=ended)
        self._unsaid: set[Attempt] = set()
        """Who takes an attempt out of here says the last word on it."""
        self._quiet, self._settled = asyncio.Event(), asyncio.Event()
        self._quiet.set()
        self._settled.set()

    @property
    def busy(self) -> int:
        """Slots taken, those of handlers that outlived their attempt included."""
        return len(self._busy)

    @property
    def stuck(self) -> int:
        """What outlived its attempt: threads, which nobody can stop, and deaf coroutines."""
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
            room, results = self._limits.result_bytes, definition.results
            context = JobContext(
                job, self._worker_id, max_result_bytes=room, results=results, record=self._record
            )
        attempt = Attempt(job, definition, lease, context, self._record)
        if not self._busy:
            self._quiet.clear()
        if not self._unsaid:
            self._settled.clear()
        self._busy.add(attempt)
        self._unsaid.add(attempt)
        if definition.room == "loop":
            self._line.add(attempt)
        else:
            self._start_in_thread(attempt)
        return attempt

    def _start_in_thread(self, attempt: Attempt) -> None:
        if attempt.definition.room == "process":  # there, the time begins when the handler does
            attempt.on_begun = partial(self._call_soon, self._deadlines.expect, attempt)
        self._deadlines.expect(attempt)
        self._threads.run(partial(self._in_thread, attempt, self._scope_for(attempt)))

    def _scope_for(self, attempt: Attempt) -> contextvars.Context:
        scope = self._scope.copy()
        scope.run(mark_running, self._worker_id, attempt.job)
        return scope

    def _in_thread(self, attempt: Attempt, scope: contextvars.Context) -> None:
        """Waking the loop is dear: it is done once for all that return before it looks."""
        try:
            word = scope.run(self._run_in_thread, attempt)
            self._returned.append((attempt, word and word.detached()))
        except BaseException as error:
            self._returned.append((attempt, error))
        if not self._woken:
            self._woken = True
            self._call_soon(self._take_returned)

    def _run_in_thread(self, attempt: Attempt) -> Word | None:
        if attempt.definition.room == "process":
            return attempt.run_in_child(self._children, self._worker_id, self._limits)
        job, lease, attempt.called = attempt.job, attempt.lease, True
        return run_sync(attempt.definition, job, attempt.context, self._limits, lease.now)

    def _call_soon(self, *call: Any) -> None:
        # The job's own scope ends in its thread: what is called here sets timers, which are ours.
        with suppress(RuntimeError):  # of a closed loop: a thread that outlived its worker can tell nobody
            self._loop.call_soon_threadsafe(*call, context=self._scope.copy())

    def _take_returned(self) -> None:
        self._woken = False  # first, so that whoever returns from now on wakes the loop again
        count = 0
        while self._returned:
            try:
                self._end(*self._returned[0])
            finally:  # only now: who finds it neither here nor said would take it for running
                self._returned.popleft()
            count += 1
        if count:
            self._ended(count)

    def _end_on_loop(self, attempt: Attempt, word: Word | None) -> None:
        self._end(attempt, word and word.detached())

    def _end(self, attempt: Attempt, outcome: Outcome) -> None:
        self._busy.discard(attempt)
        if not self._busy:
            self._quiet.set()
        if not attempt.said:
            self._speak(attempt, attempt.last_word(outcome, self._limits))

    def _speak(self, attempt: Attempt, word: Word | None) -> None:
        if self.take_word(attempt, word):
            if not self._unsaid:
                self._settled.set()
            self._say(attempt, word)

    def take_word(self, attempt: Attempt, word: Word | None) -> bool:
        """From any thread: whether whoever asks is the one to say the last word, which is this one."""
        if not take(self._unsaid, attempt):
            return False
        attempt.said = True
        if word is not None and (attempt.begun or word.verb != "release"):
            word.seconds = elapsed_clock() - attempt.started
        return True

    def matching(self, tokens: Iterable[bytes]) -> list[Attempt]:
        """The attempts under these leases of which nothing is said yet; from any thread."""
        wanted = set(tokens)
        return [
            attempt for attempt in list(self._busy) if attempt.job.token_bytes in wanted and not attempt.said
        ]

    def stop(self, attempt: Attempt, reason: StopReason) -> None:
        """Stop one attempt.  The first reason stays, but none weighs more than a lost lease."""
        if attempt.said or (attempt.handled_at is not None and reason != "lease_lost"):
            return
        if attempt.definition.room == "thread" and reason in ("cancel_requested", "gate_closed"):
            attempt.warn(reason)  # all that can be done: the handler may heed it, its timeout still counts
            return
        attempt.handled_at = elapsed_clock()
        attempt.warn(reason)
        if reason == "lease_lost":
            attempt.reason = reason
        if attempt.definition.room == "thread":
            self.give_up(attempt)
        elif attempt.can_be_ended:
            if attempt.task is not None:
                attempt.task.cancel()
            self._deadlines.expect(attempt)

    def _stop_overdue(self, attempt: Attempt) -> None:
        if attempt.handled_at is None:
            self.stop(attempt, "timed_out")
        else:
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

    # For whoever stands in for a blocked loop, from any thread (see stand_in.py) ----------------------------

    def take_unbegun(self) -> list[Attempt]:
        """Those on the loop whose handlers were not called, which are not called any more then."""
        return self._line.take_unbegun()

    def unsaid(self) -> list[tuple[Attempt, Outcome | EllipsisType]]:
        """All of which nothing is said yet, with what came of those that have ended."""
        unsaid = list(self._unsaid)  # first: what has ended by now is then among the ended, or said
        ended = dict(list(self._returned))
        return [(attempt, ended.get(attempt, attempt.outcome)) for attempt in unsaid]

    def forget(self, attempts: Iterable[Attempt]) -> None:
        """On the loop: the last word on these was said elsewhere.  What can be stopped of them is."""
        freed = 0
        for attempt in attempts:
            if attempt.task is not None:
                if attempt.handled_at is None:  # else it is in the middle of its clean-up
                    attempt.task.cancel()
            elif attempt.definition.room == "loop" and attempt in self._busy:  # it never began
                freed += 1
                self._end(attempt, None)
        if not self._unsaid:
            self._settled.set()
        if freed:
            self._ended(freed)

    def close(self) -> None:
        self._deadlines.close()
        self._threads.close()
        self._children.close()
