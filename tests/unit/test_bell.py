"""A bell: whoever waits goes on when it rings, or when the time is up, whichever comes first."""

import asyncio

import pytest

from windlass.worker.patience import Bell

LONG = 600.0


async def test_it_wakes_whoever_waits() -> None:
    bell = Bell()
    waiting = asyncio.create_task(bell.wait(LONG))
    await asyncio.sleep(0)
    assert not waiting.done()
    bell.ring()
    bell.ring()
    await asyncio.wait_for(waiting, 10)


async def test_who_comes_after_it_rang_does_not_wait_until_it_is_cleared() -> None:
    bell = Bell()
    bell.ring()
    await asyncio.wait_for(bell.wait(LONG), 10)
    bell.clear()
    waiting = asyncio.create_task(bell.wait(LONG))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_time_is_up_and_the_next_wait_is_a_new_one() -> None:
    bell = Bell()
    await asyncio.wait_for(bell.wait(0.001), 10)
    waiting = asyncio.create_task(bell.wait(LONG))
    await asyncio.sleep(0.01)
    assert not waiting.done(), "an old timer wakes nobody"
    bell.ring()
    await waiting
