"""What a handler leaves behind: no other job finds it."""

import asyncio
import contextvars
import sys
import weakref
from dataclasses import dataclass, field
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
CHILDREN: list[asyncio.Task[None]] = []


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


async def writes_on_its_task() -> None:
    setattr(asyncio.current_task(), "request", "order 7")  # noqa: B010 - mypy knows that a task has none


async def hands_on_its_context() -> None:
    task: Any = asyncio.current_task()
    CHILDREN.append(asyncio.create_task(waits(), context=task.get_context()))


async def takes_a_cancellation_back() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel("not after all")
    task.uncancel()


async def renames() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.set_name("order 7")


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE")


async def sets_a_variable() -> None:
    VARIABLE.set("whose job this is")


@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize(
    "handler",
    [
        keeps_by_task,
        keeps_weakly,
        keeps_and_fails,
        cleans_up_later,
        writes_on_its_task,
        pytest.param(
            hands_on_its_context,
            marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="no task tells its context"),
        ),
        renames,
        sets_a_variable,
    ],
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
        CHILDREN.clear()


@dataclass(frozen=True)
class User:
    name: str = field(compare=False)


USER: contextvars.ContextVar[User] = contextvars.ContextVar("USER")


async def test_a_value_that_only_equals_the_one_of_the_worker_is_found_by_no_other_job() -> None:
    """Those that the worker found set when it began are all that a comparison of contexts could mistake."""

    async def sets_the_user() -> None:
        USER.set(User("whoever has this job"))

    async def looks_who_it_is() -> None:
        found.append(USER.get().name)

    found: list[str] = []
    USER.set(User("the worker"))
    desk = Desk()
    for handler in (sets_the_user, looks_who_it_is):
        desk.add(handler)
    await desk.settle(2)
    assert found == ["the worker"]


async def test_handlers_that_set_a_variable_back_share_a_task() -> None:
    async def sets_the_user_for_a_while() -> None:
        USER.reset(USER.set(User("whoever has this job")))

    USER.set(User("the worker"))
    desk = Desk()
    attempts = [desk.add(sets_the_user_for_a_while) for _ in range(3)]
    await desk.settle(3)
    assert len({desk.tasks[attempt] for attempt in attempts}) == 1


@pytest.mark.parametrize("waiting", [False, True])
async def test_handlers_that_fail_share_a_task(waiting: bool) -> None:
    """Also while somebody has the error: its traceback has all frames of the call."""
    errors: list[ValueError] = []

    async def fails() -> None:
        if waiting:
            await asyncio.sleep(0)
        errors.append(ValueError())
        raise errors[-1]

    desk = Desk()
    desk.next = [fails] * 3
    first = desk.add(fails)
    await desk.settle(4)
    assert {desk.tasks[attempt] for attempt in desk.later} == {desk.tasks[first]}
    assert desk.opened == 1


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


async def test_a_cancellation_that_was_taken_back_does_not_come_to_the_next_job() -> None:
    desk = Desk()
    desk.next = [waits]
    desk.add(takes_a_cancellation_back)
    await desk.settle(2)
    assert [word and word.verb for word in desk.words] == ["complete", "complete"]
