"""How a process that is a worker and nothing else runs: its event loop, and its garbage collector."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["YOUNG_OBJECTS", "run_as_worker"]

YOUNG_OBJECTS = 10_000
"""So many containers more than before: time to collect garbage among the youngest."""


def run_as_worker(work: Coroutine[Any, Any, None]) -> None:
    """Run until it returns, in a process that nobody else has a say in."""
    _calm_collector()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(work)


def _calm_collector() -> None:
    """Spare the collector the jobs that are on their way, which are no garbage, and all that was imported.

    By itself it goes through the youngest containers each time that there are 700 or 2,000 more of them: less
    than a hundredth of a second's jobs.  Whoever has chosen a larger number, or none, keeps it.
    """
    gc.collect()
    gc.freeze()
    young, *older = gc.get_threshold()
    if 0 < young < YOUNG_OBJECTS:
        gc.set_threshold(YOUNG_OBJECTS, *older)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed.

    Nothing may run while its absence is being handled: every error of a handler would be shown as following
    from it.
    """
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop
