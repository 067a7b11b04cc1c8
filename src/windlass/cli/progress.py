"""A sign of life for long work, on standard error and only where somebody watches."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["advancing", "counted", "waiting"]

T = TypeVar("T")


def counted(items: Iterable[T], what: str, *, every: int = 100) -> Iterator[T]:
    """`items` as they are, with a running count."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as line:
        for number, item in enumerate(items, 1):
            if number % every == 0:
                line.update(f"{number:,} {what}")
            yield item


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def advancing(what: str) -> Iterator[Callable[[int], None] | None]:
    """Whoever does the work is given what to call with the number done so far; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as line:
        yield lambda number: line.update(f"{number:,} {what}")
