"""One execution of one job: what it is, and how its handler is told to stop."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from windlass.model import ClaimedJob
from windlass.worker.children import Child, Children, order_for
from windlass.worker.context import JobContext, StopReason
from windlass.worker.leases import Lease, elapsed_clock
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Limits, Word, word_for_stop

__all__ = ["Attempt"]

_MAX_CHILDREN_TRIED = 3


class Attempt:
    """One execution of one job.  Its slot is taken until the handler has really ended."""

    __slots__ = (
        "_child",
        "_guard",
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
        self, job: ClaimedJob, definition: JobDefinition, lease: Lease, context: JobContext | None
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
        self.task: asyncio.Task[Any] | None = None
        """What its handler runs in on the loop; none before it has begun."""
        self.timer: asyncio.TimerHandle | None = None
        self._guard = threading.Lock()
        self._child: Child | None = None

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

    def run_in_child(self, children: Children, worker_id: str, limits: Limits) -> Word | None:
        """Run in a child; None if it was killed for a reason of ours."""
        for _ in range(_MAX_CHILDREN_TRIED):
            child = children.take()
            try:
                with self._guard:
                    self._child = child
                if self.was_told():
                    return None
                order = order_for(self.definition, self.job, worker_id, limits, self.lease.now())
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

    def _told(self, name: str, value: Any) -> None:
        if name == "begun":
            self.started = elapsed_clock()
            if self.on_begun is not None:
                self.on_begun()
        elif name == "finishing":
            self.finishing = True
        elif name == "log":
            logging.getLogger(value.name).handle(value)

    def stop_word(self, reason: StopReason) -> Word | None:
        word = word_for_stop(self.job, reason)
        if word is not None:
            word.finished = self.finishing
            if self.context is not None:
                word.cost = self.context.cost_cents
                word.finished = word.finished or self.context.finished
        return word
