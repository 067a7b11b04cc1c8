"""Copies of this process, which handlers fork off it, as `multiprocessing` may do.

A copy has every open file of ours, and may outlive its handler, or us: whoever waits for one of them to be
closed would wait for the copy.
"""

import os
from collections.abc import Callable
from threading import RLock
from weakref import WeakMethod

__all__ = ["in_copies"]


def in_copies(method: Callable[[], None], unless_held: "RLock | None" = None) -> None:
    """Have it called in each copy from now on, for as long as its object is there.

    No copy is made while another thread has the lock.
    """
    found = WeakMethod(method)

    def call() -> None:
        if (still := found()) is not None:
            still()

    os.register_at_fork(after_in_child=call)
    if unless_held is not None:
        lock = unless_held
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
