"""The line of handlers on the loop: who gets a task, who is told, and what is left behind."""

import asyncio
import contextvars
import weakref
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from windlass.model import ClaimedJob
from windlass.worker import line
from windlass.worker.attempt import Attempt
from windlass.worker.leases import Lease
from windlass.worker.line import Line
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Limits, Word

NOW = datetime(2030, 1, 1, tzinfo=UTC)
Handler = Callable[[], Coroutine[Any, Any, Any]]


@pytest.fixture(autouse=True)
def _one_long_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "SLICE_SECONDS", 60.0)


class Desk:
    """A line, and a note of everything that it says."""

    def __init__(self) -> None:
        self.words: list[Word | None] = []
        self.tasks: dict[Attempt, Any] = {}
        """The task in which each attempt ended."""
        self.alone: list[Attempt] = []
        self.waiting: list[Attempt] = []
        self.free = 0
        self.line = Line(
            contextvars.copy_context(),
            "w",
            Limits(),
            alone=self.alone.append,
            waits=self.waiting.append,
            end=self.end,
            ended=self.ended,
        )

    def end(self, attempt: Attempt, word: Word | None) -> None:
        self.words.append(word)
        self.tasks[attempt] = attempt.task and attempt.task.get_name()

    def ended(self, count: int) -> None:
        self.free += count

    def add(self, handler: Handler) -> Attempt:
        kind = handler.__name__
        job = ClaimedJob(
            uuid4(), uuid4(), "default", kind, 0, {}, uuid4(), 1, 0, 5, NOW, "trace", None, NOW, None
        )
        definition = JobDefinition.from_function(handler)
        attempt = Attempt(job, definition, Lease(job.token_bytes, NOW, 0.0, 1.0), None)
        self.line.add(attempt)
        return attempt

    async def settle(self, count: int) -> None:
        """Until so many are told as ended; each turn of the loop brings it nearer."""
        for _ in range(1000):
            if self.free >= count:
                return
            await asyncio.sleep(0)
        pytest.fail(f"{self.free} of {count} were told as ended")


async def quick() -> None: ...


async def waits() -> None:
    await asyncio.sleep(0)


async def cancels_itself() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.cancel()
    raise asyncio.CancelledError


async def test_handlers_that_do_not_wait_share_a_task() -> None:
    desk = Desk()
    attempts = [desk.add(quick) for _ in range(50)]
    await desk.settle(50)
    assert len({desk.tasks[attempt] for attempt in attempts}) == 1
    assert [word.verb for word in desk.words if word is not None] == ["complete"] * 50
    assert (desk.waiting, desk.alone) == ([], [])


async def test_where_nobody_counts_references_each_has_a_task_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line, "SHARES_TASKS", False)
    desk = Desk()
    assert [desk.add(quick), desk.add(quick)] == desk.alone


async def test_the_first_that_waits_keeps_the_task_and_the_next_of_its_kind_get_their_own() -> None:
    desk = Desk()
    before, first = desk.add(quick), desk.add(waits)
    second, behind = desk.add(waits), desk.add(quick)
    await desk.settle(3)
    assert desk.tasks[before] == desk.tasks[first] != desk.tasks[behind]
    assert (desk.waiting, desk.alone) == ([first], [second])
    desk.free = 0
    third = desk.add(waits)
    await desk.settle(1)
    assert desk.waiting == [first, third], "after a while it is tried again"
    desk.add(waits)
    desk.add(waits)
    assert len(desk.alone) == 3, "and the longer left alone the more often it waits"


async def test_a_kind_that_no_longer_waits_stands_in_line_again() -> None:
    desk = Desk()
    slow = [True]

    async def sometimes() -> None:
        if slow[0]:
            await asyncio.sleep(0)

    desk.add(sometimes)
    await desk.settle(1)
    slow[0] = False
    desk.add(sometimes)
    desk.add(sometimes)
    await desk.settle(2)
    assert len(desk.alone) == 1, "the one after the one that waited; the next was tried"
    for _ in range(10):
        desk.add(sometimes)
    await desk.settle(12)
    assert len(desk.alone) == 1


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


@pytest.mark.parametrize("handler", [keeps_by_task, keeps_weakly, keeps_and_fails, cleans_up_later, renames])
async def test_what_is_kept_by_the_task_is_found_by_no_other_job(handler: Handler) -> None:
    desk = Desk()
    first, second = desk.add(handler), desk.add(quick)
    await desk.settle(2)
    assert desk.tasks[first] != desk.tasks[second]
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


async def test_a_cancellation_that_was_not_heard_ends_with_its_job() -> None:
    desk = Desk()
    first, second = desk.add(cancels_itself), desk.add(waits)
    await desk.settle(2)
    assert desk.tasks[first] != desk.tasks[second]
    assert desk.words[0] is None
    assert desk.words[1] is not None


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
