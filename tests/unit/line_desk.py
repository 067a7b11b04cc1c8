"""A line of handlers on the loop, and a note of everything that it says."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from windlass.model import ClaimedJob
from windlass.worker.attempt import Attempt
from windlass.worker.leases import Lease
from windlass.worker.line import Line
from windlass.worker.registry import JobDefinition
from windlass.worker.words import Limits, Word

__all__ = ["Desk", "Handler", "quick", "turns", "waits"]

NOW = datetime(2030, 1, 1, tzinfo=UTC)
Handler = Callable[[], Coroutine[Any, Any, Any]]


class Desk:
    """A line, and a note of everything that it says."""

    def __init__(self) -> None:
        self.words: list[Word | None] = []
        self.tasks: dict[Attempt, Any] = {}
        """The task in which each attempt ended."""
        self.expected: list[Attempt] = []
        """Those that have a timeout."""
        self.next: list[Handler] = []
        """Added as soon as a slot is free, one for each."""
        self.later: list[Attempt] = []
        self.opened = self.free = 0
        self.told: Callable[[], object] = lambda: None
        """Called whenever the line tells anything."""
        self.line = Line(
            contextvars.copy_context(),
            "w",
            Limits(),
            begins=self.begins,
            end=self.end,
            ended=self.ended,
        )
        self._open = self.line._open
        setattr(self.line, "_open", self.open)  # noqa: B010 – mypy would have it that a method stays

    def open(self) -> None:
        self.opened += 1
        self._open()

    def begins(self, attempt: Attempt) -> None:
        self.told()
        self.expected.append(attempt)

    def end(self, attempt: Attempt, word: Word | None) -> None:
        self.told()
        self.words.append(word)
        self.tasks[attempt] = attempt.task and attempt.task.get_name()

    def ended(self, count: int) -> None:
        self.free += count
        self.told()
        for handler in self.next[:count]:
            self.next.remove(handler)
            self.later.append(self.add(handler))

    def add(self, handler: Handler, timeout: float | None = None) -> Attempt:
        kind = handler.__name__
        job = ClaimedJob(
            uuid4(), uuid4(), "default", kind, 0, {}, uuid4(), 1, 0, 5, NOW, "trace", None, NOW, None
        )
        definition = JobDefinition.from_function(handler, timeout=timeout)
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


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def quick() -> None: ...


async def waits() -> None:
    await asyncio.sleep(0)
