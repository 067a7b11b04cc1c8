"""What a child process says to its worker: its words, its log lines, and what its handler's attempt costs.

A handler may fork.  The copy has the pipe, and all that is here, but it is nobody whom the worker asked: it
says and reads nothing.  What it said would pass for the word on whichever job comes next.
"""

import logging
import logging.handlers
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from windlass.errors import LeaseLost
from windlass.worker.costs import Entry

__all__ = ["Forward", "Relay", "Voice"]


class Voice:
    """The pipe to the worker.  All that is said names the order to which it belongs, by its number."""

    def __init__(self, fd: int) -> None:
        self._connection = Connection(fd)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._number = 0
        self._relay: Relay | None = None
        os.register_at_fork(after_in_child=self._fall_silent)

    @property
    def copied(self) -> bool:
        """Whether this is a copy of the process that the worker started."""
        return os.getpid() != self._pid

    def next_order(self) -> Any:
        """Wait for it, and say that it is here; EOFError if there is no worker any more."""
        self._number, order = self._connection.recv()
        self.tell("taken", self._pid)
        return order

    def relay(self) -> "Relay":
        """Costs of the order that came last."""
        self._relay = Relay(self)
        return self._relay

    def tell(self, name: str, value: Any = None) -> None:
        if self.copied:
            raise RuntimeError("a forked copy of a child process cannot speak for its job")
        with self._lock:
            self._connection.send((self._number, name, value))

    def hear(self) -> Any:
        return self._connection.recv()

    def _fall_silent(self) -> None:
        """In a copy.  Without its end of the pipe, the worker hears when the original has ended."""
        self._connection.close()
        if self._relay is not None:
            self._relay.abandon()


class Relay:
    """Has the worker enter costs, one at a time, and hears from it what became of each.

    Nobody else reads from the worker while a handler runs.  It is closed before the next order is read:
    a thread that outlived its handler comes too late.
    """

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._lock = threading.Lock()
        self._closed = False
        self._line: ThreadPoolExecutor | None = None
        self._open: set[Entry] = set()

    def record(self, entry: Entry) -> None:
        with self._lock:
            if self._closed:
                entry.lose()
                return
            if self._line is None:
                self._line = ThreadPoolExecutor(1, thread_name_prefix="windlass costs")
            self._open.add(entry)
            self._line.submit(self._exchange, entry)

    def finishing(self) -> None:
        """Say that the handler is about to finish its job itself."""
        with self._lock:
            if self._closed and not self._voice.copied:
                raise LeaseLost("the handler has returned: its job is no longer its own to finish")
            self._voice.tell("finishing")

    def _exchange(self, entry: Entry) -> None:
        self._voice.tell("cost", (entry.cents, entry.what, entry.id_bytes))
        entry.answer(self._voice.hear())
        self._open.discard(entry)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        if self._line is not None:
            self._line.shutdown()

    def abandon(self) -> None:
        """In a copy, which has none of the threads: nobody there may wait for an answer, nor for a lock."""
        self._lock = threading.Lock()
        self._closed = True
        for entry in self._open:
            entry.lose()


class Forward(logging.handlers.QueueHandler):
    """Sends each record to the worker, where logging is set up.  Of a copy, it goes to standard error."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(queue=None)  # type: ignore[arg-type]
        self._voice = voice
        self._aside = logging.StreamHandler()
        self._aside.setFormatter(logging.Formatter(logging.BASIC_FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        if self._voice.copied:
            self._aside.emit(record)
        else:
            super().emit(record)

    def enqueue(self, record: logging.LogRecord) -> None:
        self._voice.tell("log", record)
