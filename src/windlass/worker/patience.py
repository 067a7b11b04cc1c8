"""Waiting that has an end."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

__all__ = ["Bell", "unless", "within"]


class Bell:
    """An event that one task waits for, and never for long: at half the cost of an event and a timeout."""

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        self._rung = True
        self._wake()

    def clear(self) -> None:
        self._rung = False

    async def wait(self, seconds: float) -> None:
        """Until it rings, unless it has since `clear`; at most so many seconds."""
        if self._rung:
            return
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def within(seconds: float, goal: Coroutine[Any, Any, Any]) -> None:
    """Wait for `goal`, but no longer than `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await goal


async def unless(hurry: asyncio.Event, goal: Coroutine[Any, Any, Any]) -> None:
    """Wait for `goal`, but not once there is a `hurry`."""
    waits: list[asyncio.Task[Any]] = [asyncio.create_task(goal), asyncio.create_task(hurry.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits:
            task.cancel()
        await asyncio.wait(waits)
