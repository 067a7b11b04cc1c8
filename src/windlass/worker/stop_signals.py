"""Signals that are heard although a handler blocks the event loop, which would hear them only afterwards.

The interpreter writes the number of each signal to a file descriptor, whatever its threads are doing; that
descriptor is the loop's.  Here a thread reads first, and passes on what it has read: the loop acts as ever.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from windlass.worker.copies import in_copies

__all__ = ["StopSignals"]


class StopSignals:
    """Calls `hear`, in its thread, with each of these signals, and `look` every `interval` after the first.

    The loop must have its own handlers for them by `open`.  That and `close` are for the main thread.
    """

    def __init__(
        self, numbers: Iterable[int], hear: Callable[[int], None], look: Callable[[], None], interval: float
    ) -> None:
        self._numbers = frozenset(numbers)
        self._hear = hear
        self._look = look
        self._interval = interval
        self._unheard = b""
        """What the loop has not been told yet."""
        self._thread = threading.Thread(target=self._run, name="windlass signals", daemon=True)

    def open(self) -> None:
        self._read_end, self._write_end = socket.socketpair()
        self._write_end.setblocking(False)
        self._loop_end = signal.set_wakeup_fd(self._write_end.fileno(), warn_on_full_buffer=False)
        in_copies(self._leave_to_parent)
        self._thread.start()

    def close(self) -> None:
        """Leave the signals to the loop again."""
        current = signal.set_wakeup_fd(self._loop_end, warn_on_full_buffer=False)
        if current != self._write_end.fileno():  # somebody has put another in our place
            signal.set_wakeup_fd(current, warn_on_full_buffer=False)
        self._write_end.shutdown(socket.SHUT_WR)  # copies of this process have it too
        self._write_end.close()
        self._thread.join()
        self._read_end.close()

    def _leave_to_parent(self) -> None:
        """In a copy of this process: what ends it is nothing to its parent."""
        if self._write_end.fileno() < 0:
            return
        signal.set_wakeup_fd(-1)
        for number in self._numbers:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def _run(self) -> None:
        while numbers := self._read():
            self._unheard += numbers
            self._pass_on()
            for number in numbers:
                if number in self._numbers:
                    self._read_end.settimeout(self._interval)
                    self._hear(number)

    def _read(self) -> bytes:
        while True:
            try:
                return self._read_end.recv(256)
            except TimeoutError:
                self._pass_on()
                self._look()

    def _pass_on(self) -> None:
        """Again and again where the loop's end is full, as it may be while the loop is blocked."""
        if self._loop_end >= 0 and self._unheard:
            with suppress(OSError):
                self._unheard = self._unheard[os.write(self._loop_end, self._unheard) :]
