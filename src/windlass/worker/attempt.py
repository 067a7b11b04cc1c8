"""One execution of one job: what it is, and how its handler is told to stop."""

import asyncio
import logging
import math
import threading
from collections.abc import Callable
from types import EllipsisType
from typing import Any, TypeAlias

from windlass.errors import WindlassError
from windlass.model import ClaimedJob, Snooze
from windlass.worker.children import Child, Children, order_for
from windlass.worker.context import JobContext, StopReason
from windlass.worker.costs import Entry, Record, refuse_entry
from windlass.worker.leases import Lease, elapsed_clock
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Limits, Word, word_for_error, word_for_stop, word_for_value

__all__ = ["IMPORT_SECONDS", "STUBBORN_SECONDS", "Attempt", "Outcome", "outcome_of"]

IMPORT_SECONDS = 60.0
"""How long a child may take, beyond the timeout of its job, to start and to import the handler."""
STUBBORN_SECONDS = 5.0
"""How long a canceled coroutine or a killed child may take to end before its job is spoken of without it."""
_MAX_CHILDREN_TRIED = 3

Outcome: TypeAlias = Word | BaseException | None
"""What came of a handler: its word, or an error; None if it was stopped."""


class Attempt:
    """One execution of one job.  Its slot is taken until the handler has really ended."""

    __slots__ = (
        "_child",
        "_guard",
        "_owed",
        "_record",
        "called",
        "context",
        "definition",
        "finishing",
        "handled_at",
        "job",
        "lease",
        "on_begun",
        "reason",
        "said",
        "started",
        "task",
    )

    def __init__(
        self,
        job: ClaimedJob,
        definition: JobDefinition,
        lease: Lease,
        context: JobContext | None,
        record: Record = refuse_entry,
    ) -> None:
        self.job = job
        self.definition = definition
        self.lease = lease
        self.context = context
        self.started = elapsed_clock()
        self.on_begun: Callable[[], None] | None = None
        self.reason: StopReason | None = None
        self.handled_at: float | None = None
        """When it was stopped, beyond being told."""
        self.said = False
        self.finishing = False
        self.called = False
        self.task: asyncio.Task[Any] | None = None
        """What its handler runs in on the loop; none before it has begun."""
        self._guard = threading.Lock()
        self._child: Child | None = None
        self._record = record
        self._owed: Entry | None = None

    @property
    def begun(self) -> bool:
        """Whether its handler was called, as far as that is known here."""
        return self.called or self.task is not None

    @property
    def can_be_ended(self) -> bool:
        """Whether there is something to cancel or to kill.  Even so its end may not be heard of: a coroutine
        may be deaf, and the thread that waits for a child may be stuck in a line of the child's log."""
        return self.task is not None or self.definition.room == "process"

    @property
    def timeout(self) -> float | None:
        """For how many seconds its handler may run."""
        return self.definition.timeout if self.job.timeout is None else self.job.timeout

    @property
    def due(self) -> float:
        """When its handler has run for its timeout, or was canceled so long ago that nobody waits for it."""
        if self.said:
            return math.inf
        if self.handled_at is not None:
            return self.handled_at + STUBBORN_SECONDS if self.can_be_ended else math.inf
        room, timeout = self.definition.room, self.timeout
        if timeout is None or (room == "loop" and not self.begun):
            return math.inf
        return self.started + timeout + (IMPORT_SECONDS if room == "process" and not self.called else 0.0)

    def was_told(self) -> bool:
        """Whether the handler was told to stop."""
        return self.reason is not None

    def warn(self, reason: StopReason) -> None:
        """From any thread: tell the handler to stop, and kill it where it runs in a child."""
        if self.reason is None:
            self.reason = reason
        if self.context is not None:
            self.context.tell_stop(reason)
        with self._guard:
            if self._child is not None:
                self._child.kill()
            if self._owed is not None:
                self._owed.lose()

    def run_in_child(self, children: Children, worker_id: str, limits: Limits) -> Word | None:
        """Run in a child; None if it was killed for a reason of ours."""
        prepared = None if self.definition.prepare is None else self.definition.prepare(self.job)
        if isinstance(prepared, Snooze):
            return word_for_value(self.job, prepared, limits, self.lease.now)
        for _ in range(_MAX_CHILDREN_TRIED):
            child = children.take()
            try:
                with self._guard:
                    self._child = child
                if self.was_told():
                    return None
                now, detours = self.lease.now(), children.detours
                order = order_for(self.definition, self.job, worker_id, limits, now, detours, prepared)
                word = child.run(order, self._told)
            finally:
                with self._guard:
                    self._child = None
                children.give_back(child)
            if self.was_told() and not child.alive:
                return None
            if word is not None:
                word.finished = word.finished or self.finishing
                return word
        raise RuntimeError("no child process could be started for the handler")

    def _told(self, name: str, value: Any) -> Any:
        """What a child says; what it is answered, where it waits for that."""
        if name == "begun":
            self.started, self.called = elapsed_clock(), True
            if self.on_begun is not None:
                self.on_begun()
        elif name == "finishing":
            self.finishing = True
        elif name == "log":
            logging.getLogger(value.name).handle(value)
        elif name == "cost":
            return self._enter(Entry(self.job, *value))
        return None

    def _enter(self, entry: Entry) -> WindlassError | None:
        """In the thread that waits for the child: enter a cost for it; the error, if there was one."""
        with self._guard:
            self._owed = entry
        try:
            if self.was_told():  # then nobody else will wake us, and the child is gone
                entry.lose()
            else:
                self._record(entry)
            entry.wait()
        except WindlassError as error:
            return type(error)(error.message)
        finally:
            with self._guard:
                self._owed = None
        return None

    @property
    def outcome(self) -> Outcome | EllipsisType:
        """From any thread: what came of a handler on the loop; ... while it runs."""
        task = self.task
        return outcome_of(task) if task is not None and task.done() else ...

    def last_word(self, outcome: Outcome, limits: Limits) -> Word | None:
        """What is said in the end: the handler's word, unless it was stopped and that weighs more."""
        reason = self.reason
        if reason is None and type(outcome) is Word:
            return outcome
        if reason in ("lease_lost", "timed_out") or (reason is not None and outcome is None):
            return self.stop_word(reason)
        if outcome is None:
            outcome = asyncio.CancelledError("the handler was canceled, but not by Windlass")
        return word_for_error(self.job, outcome, limits) if isinstance(outcome, BaseException) else outcome

    def stop_word(self, reason: StopReason) -> Word | None:
        word = word_for_stop(self.job, reason)
        if word is not None:
            word.finished = self.finishing
            if self.context is not None:
                word.cost = self.context.cost_cents or None
                word.finished = word.finished or self.context.finished
        return word


def outcome_of(task: "asyncio.Task[Word | None]") -> Outcome:
    """What came of a handler that had this task to itself."""
    if task.cancelled():
        return None
    error = task.exception()
    return task.result() if error is None else error
