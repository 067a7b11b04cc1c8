"""What a handler leaves behind: no other job finds it."""

import asyncio
import contextvars
import weakref
from typing import Any

import pytest

from tests.unit.line_desk import Desk, Handler, quick, waits
from windlass.worker import line


@pytest.fixture(autouse=True)
def _one_long_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "SLICE_SECONDS", 60.0)


async def cancels_itself() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.cancel()
    raise asyncio.CancelledError


KEPT: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
SESSIONS: dict[Any, str] = {}


async def keeps_by_task() -> None:
    SESSIONS[asyncio.current_task()] = "what was not committed"


async def keeps_weakly() -> None:
    KEPT[asyncio.current_task()] = "the same, by a library that means it well"


async def keeps_and_fails() -> None:
    await keeps_by_task()
    raise ValueError


async def cleans_up_later() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.add_done_callback(lambda _: None)


async def renames() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.set_name("order 7")


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE")


async def sets_a_variable() -> None:
    VARIABLE.set("whose job this is")


@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize(
    "handler", [keeps_by_task, keeps_weakly, keeps_and_fails, cleans_up_later, renames, sets_a_variable]
)
async def test_what_is_kept_by_the_task_is_found_by_no_other_job(handler: Handler, waiting: bool) -> None:
    async def keeps() -> None:
        if waiting:
            await asyncio.sleep(0)
        await handler()

    async def keeps_from_the_start() -> None:
        try:
            await handler()
        finally:
            if waiting:
                await asyncio.sleep(0)

    for keeping in (keeps, keeps_from_the_start):
        desk = Desk()
        desk.next = [quick, quick]
        first = desk.add(keeping)
        await desk.settle(3)
        second, third = desk.later
        assert desk.tasks[first] != desk.tasks[second] == desk.tasks[third]
        SESSIONS.clear()


async def test_a_handler_that_only_looks_at_its_task_does_not_end_it() -> None:
    async def looks() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.get_name()

    desk = Desk()
    attempts = [desk.add(looks) for _ in range(3)]
    await desk.settle(3)
    assert len({desk.tasks[attempt] for attempt in attempts}) == 1


async def cancels_itself_unheard() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.cancel()


@pytest.mark.parametrize("handler", [cancels_itself, cancels_itself_unheard])
async def test_a_cancellation_that_was_not_heard_ends_with_its_job(handler: Handler) -> None:
    desk = Desk()
    first, second = desk.add(handler), desk.add(waits)
    await desk.settle(2)
    assert desk.tasks[first] != desk.tasks[second]
    assert desk.words[0] is None
    assert desk.words[1] is not None
