"""Nothing is opened while a child process reads its worker's main program to find a handler in it.

Without `if __name__ == "__main__"` the program would start there what it starts anywhere: another worker,
which claims real jobs, and for them children that read the program again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from windlass.errors import InvalidInput

__all__ = ["reading_main_program", "refuse_while_reading"]

_reading = threading.Event()  # of the whole process: what is read may begin threads


@contextmanager
def reading_main_program() -> Iterator[None]:
    """Within the block the main program is read, not run."""
    _reading.set()
    try:
        yield
    finally:
        _reading.clear()


def refuse_while_reading(what: str) -> None:
    """InvalidInput, with what to do, where the main program does `what` although it is only read."""
    if _reading.is_set():
        raise InvalidInput(
            f"the program {what} while a child process reads it for a handler: "
            'put what it starts under `if __name__ == "__main__":`'
        )
