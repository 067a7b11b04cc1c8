"""One execution of one job: what it is, and how its handler is told to stop."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from windlass.errors import WindlassError
from windlass.model import ClaimedJob, Snooze
from windlass.worker.children import Child, Children, order_for
from windlass.worker.context import JobContext, StopReason
from windlass.worker.costs import Entry, Record, refuse_entry
from windlass.worker.leases import Lease, elapsed_clock
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Limits, Word, word_for_stop, word_for_value

__all__ = ["Attempt"]

_MAX_CHILDREN_TRIED = 3


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
        "handled",
        "job",
        "lease",
        "on_begun",
        "reason",
        "said",
        "started",
        "task",
        "timer",
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
        self.handled = False
        self.said = False
        self.finishing = False
        self.called = False
        self.task: asyncio.Task[Any] | None = None
        """What its handler runs in on the loop; none before it has begun."""
        self.timer: asyncio.TimerHandle | None = None
        self._guard = threading.Lock()
        self._child: Child | None = None
        self._record = record
        self._owed: Entry | None = None

    @property
    def begun(self) -> bool:
        """Whether its handler was called, as far as that is known here."""
        return self.called or self.task is not None

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

    def stop_word(self, reason: StopReason) -> Word | None:
        word = word_for_stop(self.job, reason)
        if word is not None:
            word.finished = self.finishing
            if self.context is not None:
                word.cost = self.context.cost_cents or None
                word.finished = word.finished or self.context.finished
        return word
