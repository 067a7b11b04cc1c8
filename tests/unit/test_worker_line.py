"""The line of handlers on the loop: who gets a task, and who is told."""

import asyncio
import gc
import sys
from typing import Any

import pytest

from tests.unit.line_desk import Desk, quick, turns, waits
from windlass.worker import line


@pytest.fixture(autouse=True)
def _one_long_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "SLICE_SECONDS", 60.0)


async def test_handlers_that_do_not_wait_share_a_task() -> None:
    desk = Desk()
    attempts = [desk.add(quick) for _ in range(50)]
    await desk.settle(50)
    assert len({desk.tasks[attempt] for attempt in attempts}) == 1
    assert [word.verb for word in desk.words if word is not None] == ["complete"] * 50


async def test_where_nobody_counts_references_each_has_a_task_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line, "SHARES_TASKS", False)
    monkeypatch.delattr(sys, "getrefcount")
    desk = Desk()
    desk.next = [quick]
    attempts = [desk.add(quick), desk.add(quick), desk.add(waits)]
    await desk.settle(4)
    assert len({desk.tasks[attempt] for attempt in [*attempts, *desk.later]}) == 4


async def test_the_first_that_waits_keeps_the_task_and_another_takes_the_line() -> None:
    desk, gate = Desk(), asyncio.Event()

    async def waits_for_the_gate() -> None:
        await gate.wait()

    before, first, behind = desk.add(quick), desk.add(waits_for_the_gate), desk.add(quick)
    await desk.settle(2)
    gate.set()
    await desk.settle(3)
    assert desk.tasks[before] == desk.tasks[first] != desk.tasks[behind]


async def test_those_of_a_kind_that_waited_wait_all_at_once() -> None:
    desk, gate = Desk(), asyncio.Event()
    waiting: list[int] = []

    async def waits_for_the_gate() -> None:
        waiting.append(1)
        await gate.wait()

    for _ in range(10):
        desk.add(waits_for_the_gate)
    await turns(3)
    assert len(waiting) == 10, "also of a kind that nobody knew"
    gate.set()
    await desk.settle(10)
    gate.clear()
    for _ in range(10):
        desk.add(waits_for_the_gate)
    await turns(1)
    assert len(waiting) == 20, "and without a look between them the next time"
    gate.set()
    await desk.settle(20)


async def test_a_task_whose_handler_waited_goes_on_with_what_comes_into_its_slot() -> None:
    desk = Desk()
    desk.next = [waits, quick, waits, waits]
    first = desk.add(waits)
    await desk.settle(5)
    assert len(desk.later) == 4
    assert {desk.tasks[attempt] for attempt in desk.later} == {desk.tasks[first]}
    assert desk.opened == 1


async def test_each_of_many_goes_on_with_one() -> None:
    desk, first, second = Desk(), asyncio.Event(), asyncio.Event()

    async def waits_for_the_first() -> None:
        await first.wait()

    async def waits_for_the_second() -> None:
        await second.wait()

    attempts = [desk.add(waits_for_the_first) for _ in range(20)]
    await turns(3)
    desk.next = [waits_for_the_second] * 20
    first.set()
    await desk.settle(20)
    await turns(3)
    second.set()
    await desk.settle(40)
    tasks = [desk.tasks[attempt] for attempt in attempts]
    assert len(set(tasks)) == 20
    assert sorted(desk.tasks[attempt] for attempt in desk.later) == sorted(tasks)
    assert desk.opened == 20


async def test_what_a_task_leaves_in_line_when_it_waits_once_more_is_taken_by_another() -> None:
    desk, gate = Desk(), asyncio.Event()

    async def waits_for_the_gate() -> None:
        await gate.wait()

    def ended(count: int) -> None:
        desk.free += count
        if desk.free == 1:
            desk.add(waits_for_the_gate)
            desk.add(quick)

    desk.line._ended = ended
    desk.add(waits)
    await desk.settle(2)
    gate.set()
    await desk.settle(3)


async def test_it_is_noted_of_every_kind_that_it_waits_however_many_begin_in_a_turn() -> None:
    desk, gate, started = Desk(), asyncio.Event(), 0

    async def waits_for_the_gate() -> None:
        await gate.wait()

    async def waits_a_turn() -> None:
        nonlocal started
        started += 1
        await asyncio.sleep(0)

    async def waits_a_turn_too() -> None:
        await waits_a_turn()

    for _ in range(2):
        desk.add(waits_for_the_gate)
    await turns(3)
    desk.next = [waits_a_turn, waits_a_turn_too]
    gate.set()
    await desk.settle(4)
    for _ in range(5):
        desk.add(waits_a_turn)
        desk.add(waits_a_turn_too)
    await turns(1)
    assert started == 12
    await desk.settle(14)


async def test_as_many_tasks_are_opened_as_there_are_attempts_that_wait() -> None:
    desk, gate = Desk(), asyncio.Event()

    async def waits_for_the_gate() -> None:
        await gate.wait()

    for _ in range(2):
        desk.opened = 0
        for _ in range(10):
            desk.add(waits_for_the_gate)
        await turns(3)
        gate.set()
        await desk.settle(10)
        assert desk.opened == 10
        gate.clear()
        desk.free = 0


async def test_a_task_that_asks_for_more_runs_all_of_it_if_none_waits() -> None:
    desk = Desk()
    desk.next = [quick] * 20
    for _ in range(10):
        desk.add(quick)
    await desk.settle(30)
    assert desk.opened == 1


async def test_a_kind_that_no_longer_waits_shares_a_task_again() -> None:
    desk = Desk()
    slow = [True]

    async def sometimes() -> None:
        if slow[0]:
            await asyncio.sleep(0)

    desk.add(sometimes)
    await desk.settle(1)
    slow[0] = False
    desk.add(sometimes)
    await desk.settle(2)
    desk.opened = 0
    attempts = [desk.add(sometimes) for _ in range(10)]
    await desk.settle(12)
    assert len({desk.tasks[attempt] for attempt in attempts}) == desk.opened == 1


async def test_after_a_slice_the_loop_gets_a_turn_however_many_tasks_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them could go on for a slice of its own, and all else would wait for all of these."""
    clock = [0.0]
    monkeypatch.setattr(line, "elapsed_clock", lambda: clock[0])
    desk, gate = Desk(), asyncio.Event()
    seen: list[int] = []
    turn = 0

    async def waits_for_the_gate() -> None:
        await gate.wait()

    async def takes_a_sixth_of_a_slice() -> None:
        clock[0] += line.SLICE_SECONDS / 6
        seen.append(turn)

    for _ in range(5):
        desk.add(waits_for_the_gate)
    await turns(3)
    desk.next = [takes_a_sixth_of_a_slice] * 60
    gate.set()
    while desk.free < 65:
        turn += 1
        await asyncio.sleep(0)
    assert len(seen) == 60
    assert max(map(seen.count, seen)) <= 6 + 5, "a slice, and one for each that waited"


async def test_only_those_with_a_timeout_are_expected_to_run_into_it() -> None:
    desk = Desk()
    desk.add(quick)
    limited = desk.add(waits, timeout=60.0)
    await desk.settle(2)
    assert desk.expected == [limited]


class Odd(BaseException):
    """An error of a kind that only ends what is made to heed it."""


@pytest.mark.parametrize("waiting", [False, True])
async def test_an_error_of_no_usual_kind_is_a_word_too_and_frees_the_slot(waiting: bool) -> None:
    async def oddly() -> None:
        if waiting:
            await asyncio.sleep(0)
        raise Odd

    desk = Desk()
    desk.add(oddly)
    desk.add(quick)
    await desk.settle(2)
    assert sorted(word.verb for word in desk.words if word is not None) == ["complete", "fail"]


@pytest.mark.parametrize("waiting", [False, True])
async def test_a_slot_that_cannot_be_told_of_does_not_stop_the_line(waiting: bool) -> None:
    """Whoever is told of a free slot claims and starts others, and may come to grief."""
    desk, loop = Desk(), asyncio.get_running_loop()
    faults: list[Any] = []
    loop.set_exception_handler(lambda _, context: faults.append(context["exception"]))

    def ended(_: int) -> None:
        desk.line._ended = desk.ended
        raise MemoryError

    desk.line._ended = ended
    desk.add(waits if waiting else quick)
    await turns(5)
    desk.add(quick)
    await desk.settle(1)
    gc.collect()
    assert [type(fault) for fault in faults] == [MemoryError]


async def test_whoever_is_left_in_line_gets_a_task_although_the_one_look_of_a_turn_came_to_grief() -> None:
    desk, gate = Desk(), asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)

    async def waits_for_the_gate() -> None:
        await gate.wait()

    def ended(count: int) -> None:
        desk.free += count
        if desk.free == 1:
            for handler in (quick, waits_for_the_gate, quick):
                desk.add(handler)
        elif desk.free == 2:
            raise MemoryError

    desk.line._ended = ended
    desk.add(waits)
    await desk.settle(3)
    gate.set()
    await desk.settle(4)


async def test_what_was_stopped_or_given_up_in_line_is_not_begun() -> None:
    desk = Desk()
    stopped, given_up, fine = desk.add(quick), desk.add(quick), desk.add(quick)
    stopped.warn("shutdown")
    given_up.said = True
    await desk.settle(3)
    assert (desk.tasks[stopped], desk.tasks[given_up]) == (None, None)
    assert desk.tasks[fine] is not None
    assert [word is None for word in desk.words] == [True, True, False]


async def test_a_line_whose_task_was_canceled_from_outside_goes_on() -> None:
    desk = Desk()
    ours = asyncio.all_tasks()
    attempts = [desk.add(quick) for _ in range(3)]
    for task in asyncio.all_tasks() - ours:
        task.cancel()
    await desk.settle(3)
    assert all(word is not None for word in desk.words)
    assert all(desk.tasks[attempt] is not None for attempt in attempts)
