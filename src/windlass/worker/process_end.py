"""The end of a process that has handlers in it which nobody could stop."""

import logging
import os
import sys
import threading
from collections.abc import Callable

__all__ = ["end_now", "end_over_handler"]

_PATIENCE = 10.0


def end_now() -> None:
    """End without waiting for threads and coroutines."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def end_over_handler(before: Callable[[], None]) -> None:
    """The same from a thread, while a handler blocks the event loop, and `before` that.

    What waits for the handler too, as the log does in whose middle it may be, is not waited for long.
    """

    def end() -> None:
        before()
        end_now()

    ending = threading.Thread(target=end, name="windlass end", daemon=True)
    try:
        ending.start()
        ending.join(_PATIENCE)
    finally:  # also where the system has no further thread
        os._exit(0)
