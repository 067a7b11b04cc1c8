"""Deadlines: one timer for all attempts, whatever is due when."""

import asyncio
from typing import Any

import pytest

from windlass.worker import deadlines
from windlass.worker.deadlines import Deadlines
from windlass.worker.leases import elapsed_clock


class Due:
    """What there is of an attempt for its deadline."""

    def __init__(self, seconds: float) -> None:
        self.due = elapsed_clock() + seconds


class Desk:
    def __init__(self) -> None:
        self.attempts: Any = set()
        self.overdue: list[Any] = []
        self.deadlines = Deadlines(self.attempts, self.stop)

    def stop(self, attempt: Any) -> None:
        self.overdue.append(attempt)
        self.attempts.discard(attempt)

    def expect(self, seconds: float) -> Any:
        attempt: Any = Due(seconds)
        self.attempts.add(attempt)
        self.deadlines.expect(attempt)
        return attempt

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.overdue) < count:
                await asyncio.sleep(0.001)


@pytest.fixture
async def desk() -> Any:
    return Desk()


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each timer was set for."""
    found: list[float] = []
    whole = Deadlines._set

    def noted(self: Deadlines, due: float) -> None:
        found.append(due - elapsed_clock())
        whole(self, due)

    monkeypatch.setattr(deadlines.Deadlines, "_set", noted)
    return found


async def test_each_is_stopped_when_it_is_due_and_not_before(desk: Desk) -> None:
    late, soon = desk.expect(0.06), desk.expect(0.02)
    never = desk.expect(3600)
    await desk.until(2)
    assert desk.overdue == [soon, late]
    assert elapsed_clock() >= late.due
    assert desk.attempts == {never}
    desk.deadlines.close()


async def test_what_ended_before_is_not_stopped_and_the_others_are(desk: Desk) -> None:
    first, second = desk.expect(0.02), desk.expect(0.04)
    desk.attempts.discard(first)
    await desk.until(1)
    assert desk.overdue == [second]


async def test_one_that_is_due_sooner_than_it_was_is_stopped_then(desk: Desk) -> None:
    attempt = desk.expect(3600)
    attempt.due = elapsed_clock() + 0.01
    desk.deadlines.expect(attempt)
    await desk.until(1)


async def test_one_that_is_due_again_after_it_was_stopped_is_stopped_again(desk: Desk) -> None:
    def stop(attempt: Any) -> None:
        desk.overdue.append(attempt)
        attempt.due = elapsed_clock() + 0.01
        desk.deadlines.expect(attempt)

    desk.deadlines._overdue = stop
    desk.expect(0.01)
    await desk.until(3)
    desk.deadlines.close()


async def test_whatever_one_comes_to_the_others_are_stopped(desk: Desk) -> None:
    loop = asyncio.get_running_loop()
    faults: list[Any] = []
    loop.set_exception_handler(lambda _, context: faults.append(context["exception"]))

    def stop(attempt: Any) -> None:
        desk.stop(attempt)
        if len(desk.overdue) == 1:
            raise MemoryError

    desk.deadlines._overdue = stop
    for _ in range(3):
        desk.expect(0.01)
    await desk.until(3)
    assert [type(fault) for fault in faults] == [MemoryError]


async def test_a_timer_is_set_for_few_of_many_that_end_in_time(desk: Desk, timers: list[float]) -> None:
    for _ in range(1000):
        attempt = desk.expect(5.0)
        desk.attempts.discard(attempt)
    assert len(timers) == 1
    desk.deadlines.close()


async def test_nothing_is_stopped_after_it_was_closed(desk: Desk) -> None:
    desk.expect(0.01)
    desk.deadlines.close()
    desk.expect(0.0)
    await asyncio.sleep(0.02)
    assert desk.overdue == []
