"""Things that two threads may take: each is taken by one of them.

The event loop and the thread that stands in for it (see stand_in.py) take from the same places, and without
a lock, which every job would have to pay for.  One operation of a container takes one thing out, or finds it
gone; nobody looks first and takes afterwards.  Who goes through one of them copies it by `list` first, which
no other thread can come between (by `tuple` one can, up to Python 3.11: it may collect garbage midway).
"""

from collections import deque
from typing import TypeVar

__all__ = ["take", "take_all"]

T = TypeVar("T")


def take(things: set[T], thing: T) -> bool:
    """Whether it was there, and is now whoever's that asked."""
    try:
        things.remove(thing)
    except KeyError:
        return False
    return True


def take_all(things: deque[T]) -> list[T]:
    """What is there, in its order."""
    taken: list[T] = []
    while True:
        try:
            taken.append(things.popleft())
        except IndexError:
            return taken
