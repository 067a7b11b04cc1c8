"""Words on their way to the database: each has its answer in the end, and none waits for another's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

from windlass.model import ClaimedJob
from windlass.worker.outage import Outage
from windlass.worker.reporter import Answer, Reporter
from windlass.worker.signals import Signals
from windlass.worker.words import Word

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_job(token: UUID | None = None) -> ClaimedJob:
    token = token or uuid4()
    return ClaimedJob(uuid4(), uuid4(), "default", "pay", 0, {}, token, 1, 0, 5, NOW, "t", None, NOW, None)


class Database:
    """Answers every word with ok, except as `hears` says; keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[bytes]]] = []
        self.hears: Callable[[str, list[bytes]], Any] = lambda verb, jobs: None

    async def run(self, call: Any) -> list[Any]:
        verb = call.text.split("windlass.")[1].split("_jobs")[0]
        jobs = list(call.values[1].values)
        self.told.append((verb, jobs))
        await asyncio.sleep(0)
        answer = self.hears(verb, jobs)
        if answer is not None:
            return cast("list[Any]", answer)
        if verb == "complete":
            return []
        return [SimpleNamespace(job_id=UUID(bytes=j), code="ok", state="queued", run_at=None) for j in jobs]


class Desk:
    def __init__(self) -> None:
        self.database = Database()
        self.answers: dict[bytes, list[Answer]] = {}
        self.reporter = Reporter(cast("Any", self.database), self._answered, Outage("reporting", Signals()))

    def _answered(self, words: Sequence[Word], answer: Answer) -> None:
        for word in words:
            self.answers.setdefault(word.job.id_bytes, []).append(answer)

    def say(self, *words: Word) -> None:
        for word in words:
            self.reporter.say(word)

    async def silent(self) -> None:
        async with asyncio.timeout(10):
            await self.reporter.silent()


@asynccontextmanager
async def reporting() -> AsyncIterator[Desk]:
    desk = Desk()
    task = asyncio.create_task(desk.reporter.run())
    try:
        yield desk
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_finish_of_the_handlers_own_is_asked_for_with_two_statements_and_no_more() -> None:
    word = Word(a_job(), "fail", error="{}", finished=True)
    async with reporting() as desk:
        refused = [SimpleNamespace(job_id=word.job.id, code="lease_lost", state=None, run_at=None)]
        desk.database.hears = lambda verb, _: refused if verb == "fail" else None
        desk.say(word)
        await desk.silent()
    assert desk.database.told == [("fail", [word.job.id_bytes]), ("complete", [word.job.id_bytes])]
    assert desk.answers == {word.job.id_bytes: [Answer("ok", "succeeded")]}
