"""Waiting that has an end."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

__all__ = ["unless", "within"]


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
