"""Threads for handlers that are not coroutines, as many as are needed and can be had."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

__all__ = ["Threads"]

_AGAIN_SECONDS = 1.0


class Threads:
    """Runs work in a pool of threads.

    Where the system gives no further thread (a container may have only so many), work waits for one of those
    that are there, and a new one is asked for each second.  What waits is kept here and not in the pool:
    that does not say whether it has kept what it was given when it could start no thread.
    """

    def __init__(self, size: int, fault: Callable[[str, BaseException], None]) -> None:
        self._pool = ThreadPoolExecutor(size, thread_name_prefix="windlass handler")
        self._waiting: deque[Callable[[], None]] = deque()
        self._fault = fault
        self._loop = asyncio.get_running_loop()
        self._again: asyncio.TimerHandle | None = None

    def run(self, work: Callable[[], None]) -> None:
        """Have this done, which raises nothing, behind what waits already."""
        self._waiting.append(work)
        try:
            self._pool.submit(self._take)
        except RuntimeError as error:
            if self._again is None:
                self._fault("starting a thread", error)
                self._again = self._loop.call_later(_AGAIN_SECONDS, self._ask_again)

    def _take(self) -> None:
        try:
            work = self._waiting.popleft()
        except IndexError:
            return  # somebody else has taken it
        work()

    def _ask_again(self) -> None:
        self._again = None
        if self._waiting:
            with suppress(RuntimeError):
                self._pool.submit(self._take)
            self._again = self._loop.call_later(_AGAIN_SECONDS, self._ask_again)

    def close(self) -> None:
        """Nothing more is begun; threads that are at work are left to it."""
        if self._again is not None:
            self._again.cancel()
        self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
