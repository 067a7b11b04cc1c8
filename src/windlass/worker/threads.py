"""Threads: for handlers that are not coroutines, for what handlers hand to others, and for ourselves."""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

__all__ = ["LoopThreads", "Threads", "in_own_thread"]

P = ParamSpec("P")
T = TypeVar("T")

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


class LoopThreads(ThreadPoolExecutor):
    """The executor of the event loop, of which handlers may take every thread, and keep it.

    What they give to `run_in_executor` runs in their context: it too is done for their job.
    `asyncio.to_thread` sees to that by itself.
    """

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._unfinished: set[Future[Any]] = set()

    @property
    def busy(self) -> bool:
        """Whether anything that was given to it has not ended."""
        return bool(self._unfinished)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = super().submit(partial(contextvars.copy_context().run, fn, *args, **kwargs))
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        return future

    async def quiet(self) -> None:
        """Wait until all of it has ended, on the loop whose executor this is."""
        while unfinished := [asyncio.wrap_future(future) for future in list(self._unfinished)]:
            await asyncio.wait(unfinished)


async def in_own_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Have something of ours done, for which no thread of the loop may be free."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work(*args, **kwargs)
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(result)

    try:
        threading.Thread(target=run, name="windlass aside", daemon=True).start()
    except RuntimeError:  # the system has no further thread, and what we do so never takes long
        run()
    return await asyncio.wrap_future(done)
