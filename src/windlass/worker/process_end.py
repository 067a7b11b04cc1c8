"""The end of a process that has handlers in it which nobody could stop."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

__all__ = ["end_now", "end_over_handler"]

_PATIENCE, _HURRIED_PATIENCE = 10.0, 2.0


def end_now(*, hurried: bool) -> NoReturn:
    """End without waiting for threads and coroutines; for the main thread.

    Nor for long for what they hold, such as the lock of a log, and not at all at a further signal.
    """

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    _end_after(_HURRIED_PATIENCE if hurried else _PATIENCE)


def end_over_handler(before: Callable[[], None]) -> NoReturn:
    """The same from another thread, while a handler blocks the event loop, and `before` that.

    What waits for the handler too, as the log does in whose middle it may be, is not waited for long.
    """
    _end_after(_PATIENCE, before)


def _end_after(seconds: float, before: Callable[[], None] = lambda: None) -> NoReturn:
    """Write out what is buffered and end, whether that could be done or not."""

    def end() -> None:
        try:
            before()
        finally:
            with suppress(Exception):  # nobody may be there any more who reads
                sys.stdout.flush()
            with suppress(Exception):
                logging.shutdown()

    ending = threading.Thread(target=end, name="windlass end", daemon=True)
    try:
        ending.start()
        ending.join(seconds)
    finally:  # also where the system has no further thread
        os._exit(0)
