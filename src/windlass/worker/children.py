"""Child processes that run handlers and can be killed: a pool of them, kept for the next job.

A child is the leader of a session of its own: a key pressed on the terminal reaches the worker alone.
Killing it kills what the handler started too, which its warden sees to; where the system has none, that is
what has stayed in its process group.
"""

import contextlib
import contextvars
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from windlass.client.detours import Detours
from windlass.model import ClaimedJob
from windlass.worker.copies import in_copies
from windlass.worker.registry import JobDefinition
from windlass.worker.warden import can_guard, dismiss
from windlass.worker.words import Limits, Word, word_for_crash, word_for_disorder

__all__ = ["Child", "Children", "Order", "Target"]


class Target(NamedTuple):
    """Where a child finds the handler: by the name of its module, or by the path of the main program."""

    module: str
    path: str | None
    qualname: str
    is_main: bool = False
    """Whether that module is the main program, under whichever name."""


class Order(NamedTuple):
    """What a child is asked to do."""

    target: Target
    job: ClaimedJob
    worker_id: str
    limits: Limits
    now: datetime
    log_level: int
    detours: Detours
    prepared: Any = None


class Child:
    """One process, running at most one job at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        self._guarded = can_guard()
        lifeline, held = os.pipe()
        self._lifeline: int | None = held
        self._lock = threading.Lock()
        try:
            with theirs:
                fds = [theirs.fileno(), lifeline]
                self._process = subprocess.Popen(
                    [sys.executable, *_interpreter_flags(), "-c", _program(*fds, guarded=self._guarded)],
                    pass_fds=fds,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except BaseException:
            self._let_go()
            raise
        finally:
            os.close(lifeline)
        self.pid = self._process.pid
        self._killed = False
        self._number = 0

    def run(self, order: Order, told: Callable[[str, Any], Any]) -> Word | None:
        """Run one job; `told` gets and answers what the child says meanwhile.  Its death makes a word too.

        None if it was dead before it began: that is not the job's doing.  Whatever goes wrong between the
        two, it is killed: what it says next would pass for the word on another job.
        """
        self._number += 1
        taken = False
        try:
            self._connection.send((self._number, order))
            while True:
                number, name, value = self._connection.recv()
                if number == self._number:
                    if name == "word":
                        return self._own_word(value, order)
                    if name == "taken":
                        taken, self.pid = True, value
                    answer = told(name, value)
                    if name == "cost":
                        self._connection.send(answer)
                elif name == "log":  # of a thread that outlived its handler: not a line of this job
                    contextvars.Context().run(told, name, value)
                else:
                    self._end()
                    return word_for_disorder(order.job) if taken or self._has_taken() else None
        except (EOFError, OSError):
            code = self._end()
            return word_for_crash(order.job, code) if taken else None
        except BaseException:
            self.kill()
            raise

    def _own_word(self, word: Word, order: Order) -> Word:
        word.job = order.job
        return word

    def _has_taken(self) -> bool:
        """Of one that has ended: whether it had taken the last order, in what it said and nobody has read."""
        with contextlib.suppress(EOFError, OSError):
            while self._connection.poll():
                number, name, _ = self._connection.recv()
                if number == self._number and name == "taken":
                    return True
        return False

    def _end(self) -> int:
        self.kill()
        return self._process.wait()

    @property
    def alive(self) -> bool:
        return not self._killed and self._process.poll() is None

    def kill(self) -> None:
        """End it, and whatever it started, at once."""
        self._killed = True
        if self._guarded:
            self._let_go()
        elif self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _let_go(self) -> None:
        """Of the lifeline: the warden ends the child then, and finds that out even if it comes up later."""
        with self._lock:
            held, self._lifeline = self._lifeline, None
        if held is not None:
            dismiss(held)

    def leave_to_original(self) -> None:
        """In a copy of the worker's process: the child hears of the end of the original, as that of its."""
        held, self._lifeline = self._lifeline, None
        if held is not None:
            os.close(held)
        self._connection.close()

    def close(self) -> None:
        """End it and wait for that."""
        self._end()
        self._let_go()
        self._connection.close()


class Children:
    """Lends children to threads, one each; starts one where none is idle.

    They belong to one worker, so what they are told of databases never changes.
    """

    def __init__(self, detours: Detours) -> None:
        self.detours = detours
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._closed = False
        self._starting = threading.RLock()
        """While it is held, there are ends of pipes that a copy of this process would not know of."""
        in_copies(self._leave_to_original, unless_held=self._starting)

    def take(self) -> Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.alive:
                    return child
                self._all.discard(child)
                child.close()
        with self._starting:
            child = Child()
            with self._lock:
                self._all.add(child)
                closed = self._closed
        if closed:
            child.kill()
        return child

    def give_back(self, child: Child) -> None:
        with self._lock:
            if child.alive and not self._closed:
                self._idle.append(child)
                return
            self._all.discard(child)
        child.close()

    @property
    def pids(self) -> list[int]:
        with self._lock:
            return [child.pid for child in self._all]

    def close(self) -> None:
        """Kill them all; those still lent are closed by whoever has them."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            lent = self._all - set(idle)
            self._all = lent
        for child in (*lent, *idle):
            child.kill()
        for child in idle:
            child.close()

    def _leave_to_original(self) -> None:
        """In a copy of this process, whose locks may be held by threads that are not in it."""
        for child in self._all:
            child.leave_to_original()


def target_of(definition: JobDefinition) -> Target:
    """Where a child finds this handler."""
    module = definition.handler.__module__
    path, is_main = None, module == "__main__"
    if is_main:
        main = sys.modules["__main__"]
        spec = getattr(main, "__spec__", None)
        if spec is not None and spec.name != "__main__":  # python -m; of a package, the module in it
            module = spec.name
        else:
            path = getattr(main, "__file__", None)
    return Target(module, path, definition.handler.__qualname__, is_main)


def order_for(
    definition: JobDefinition,
    job: ClaimedJob,
    worker_id: str,
    limits: Limits,
    now: datetime,
    detours: Detours,
    prepared: Any,
) -> Order:
    level = logging.getLogger().getEffectiveLevel()
    return Order(target_of(definition), job, worker_id, limits, now, level, detours, prepared)


def _program(fd: int, lifeline: int, *, guarded: bool) -> str:
    """With the path of imports as it is now, which may not be what a new interpreter would make of it."""
    lines = [f"import sys; sys.path[:] = {sys.path!r}"]
    if guarded:
        lines.append(f"from windlass.worker.warden import stand_guard; stand_guard({lifeline}, {fd})")
    lines.append(f"from windlass.worker.child import main; main({fd})")
    return "\n".join(lines)


def _interpreter_flags() -> list[str]:
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags
