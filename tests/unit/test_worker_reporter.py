"""Words on their way to the database: each has its answer in the end, and none waits for another's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from tests.integration.crew import until
from windlass.errors import InvalidInput, SchemaMismatch, Unavailable
from windlass.model import ClaimedJob
from windlass.worker import apart
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
        self.closed = 0

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

    async def close(self) -> None:
        self.closed += 1

    def refuse(self, jobs: set[bytes], error: Exception) -> None:
        """Answer nothing that speaks of one of these."""

        def hears(_verb: str, told: list[bytes]) -> None:
            if jobs & set(told):
                raise error

        self.hears = hears


class Desk:
    def __init__(self) -> None:
        self.database = Database()
        self.answers: dict[bytes, list[Answer]] = {}
        self.apart = Database()
        links = cast("Any", self.database), cast("Any", self.apart)
        self.reporter = Reporter(*links, self._answered, Signals())

    def _answered(self, words: Sequence[Word], answer: Answer) -> None:
        for word in words:
            self.answers.setdefault(word.job.id_bytes, []).append(answer)

    def say(self, *words: Word) -> None:
        for word in words:
            self.reporter.say(word)

    async def silent(self) -> None:
        async with asyncio.timeout(10):
            await self.reporter.silent()


async def keep_going(run: Callable[[], Awaitable[None]]) -> None:
    """As a worker does with its lanes."""
    while True:
        with suppress(Exception):
            await run()
        await asyncio.sleep(0)


@asynccontextmanager
async def reporting() -> AsyncIterator[Desk]:
    desk = Desk()
    tasks = [asyncio.create_task(keep_going(lane.run)) for lane in (desk.reporter, desk.reporter.apart)]
    try:
        yield desk
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


HELD = Unavailable("somebody holds the job", sqlstate="55P03")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody holds is tried again at once."""
    monkeypatch.setattr(apart, "_HELD_AGAIN_SECONDS", 0.001)


def failures(count: int) -> list[Word]:
    """Of two leases, half of them each."""
    tokens = [uuid4(), uuid4()]
    return [Word(a_job(tokens[n * 2 // count]), "fail", error="{}") for n in range(count)]


def ids(words: Sequence[Word]) -> list[bytes]:
    return [word.job.id_bytes for word in words]


async def test_a_finish_of_the_handlers_own_is_asked_for_with_two_statements_and_no_more() -> None:
    word = Word(a_job(), "fail", error="{}", finished=True)
    async with reporting() as desk:
        refused = [SimpleNamespace(job_id=word.job.id, code="lease_lost", state=None, run_at=None)]
        desk.apart.hears = lambda verb, _: refused if verb == "fail" else None
        desk.say(word)
        await desk.silent()
    assert desk.apart.told == [("fail", [word.job.id_bytes]), ("complete", [word.job.id_bytes])]
    assert desk.answers == {word.job.id_bytes: [Answer("ok", "succeeded")]}


async def test_nobody_waits_for_a_word_that_waits_itself() -> None:
    held, other = failures(2)
    lock = asyncio.Event()
    async with reporting() as desk:
        desk.database.refuse({held.job.id_bytes}, HELD)
        real = desk.apart.run

        async def waits(call: Any) -> list[Any]:
            await lock.wait()
            return await real(call)

        desk.apart.run = waits  # type: ignore[method-assign]
        desk.say(held)
        await until(lambda: desk.database.told, "the word is held")
        success = Word(a_job(), "complete")
        desk.say(success)
        await until(lambda: desk.answers, "the next one has its answer")
        assert ids([success]) == [*desk.answers]
        desk.say(other)
        lock.set()
        await desk.silent()
    assert {job: len(answers) for job, answers in desk.answers.items()} == dict.fromkeys(
        ids([held, other, success]), 1
    )


@pytest.mark.usefixtures("soon")
async def test_a_held_job_is_met_once_for_the_batch_once_for_its_lease_and_then_alone() -> None:
    words = failures(100)
    held = words[7].job.id_bytes
    async with reporting() as desk:
        for database in (desk.database, desk.apart):
            database.refuse({held}, HELD)
        desk.say(*words)
        await until(lambda: len(desk.answers) == 99, "all others have their answers")
        told = [jobs for _, jobs in desk.apart.told]
        assert [len(jobs) for jobs in told[:3]] == [100, 50, 50], "the batch, and each lease by itself"
        assert sorted(told[3:53]) == sorted([job] for job in ids(words[:50])), "then one by one"
        desk.apart.hears = lambda verb, jobs: None
        await desk.silent()
    assert all(len(answers) == 1 for answers in desk.answers.values())


@pytest.mark.usefixtures("soon")
async def test_while_jobs_are_held_only_successes_go_with_the_others() -> None:
    held, other = failures(2)
    async with reporting() as desk:
        for database in (desk.database, desk.apart):
            database.refuse({held.job.id_bytes}, HELD)
        desk.say(held)
        await until(lambda: len(desk.apart.told) > 2, "it is tried again and again")
        before = len(desk.database.told)
        success = Word(a_job(), "complete")
        desk.say(other, success)
        await until(lambda: len(desk.answers) == 2, "both have their answers")
        assert desk.database.told[before:] == [("complete", ids([success]))]


async def test_what_was_held_before_waits_behind_the_others_and_still_has_its_turn() -> None:
    desk = Desk()
    held, *others = failures(30)
    desk.apart.hears = lambda verb, jobs: None
    desk.reporter.backlog = 30
    lane = desk.reporter.apart
    lane._add(lane._held, apart._Group([held]))
    for word in others:
        lane.say([word])
    while len(desk.answers) < 30:
        await lane._send_next()
    assert ids([held]) == desk.apart.told[20][1]


async def test_a_malformed_word_becomes_a_failure_and_the_others_do_not_suffer() -> None:
    words = [Word(a_job(), "complete", result=str(n)) for n in range(8)]
    bad = words[3].job.id_bytes
    async with reporting() as desk:

        def hears(verb: str, jobs: list[bytes]) -> None:
            if verb == "complete" and bad in jobs:
                raise InvalidInput("not JSON")

        desk.database.hears = desk.apart.hears = hears
        desk.say(*words)
        await desk.silent()
    assert [len(jobs) for _, jobs in desk.apart.told] == [8, 4, 4, 2, 2, 1, 1, 1]
    assert desk.answers.pop(bad) == [Answer("ok", "queued", None)]
    assert all(answers == [Answer("ok", "succeeded")] for answers in desk.answers.values())


async def test_what_the_database_never_takes_is_given_up_with_its_reason() -> None:
    async with reporting() as desk:
        (word, *_) = failures(2)
        desk.database.refuse({word.job.id_bytes}, InvalidInput("no"))
        desk.apart.hears = desk.database.hears
        desk.say(word)
        await desk.silent()
    assert desk.answers == {word.job.id_bytes: [Answer("invalid_input")]}


async def test_the_connection_is_closed_when_it_was_not_needed_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apart, "_IDLE_SECONDS", 0.001)
    async with reporting() as desk:
        await until(lambda: desk.apart.closed, "it is closed")
        desk.say(Word(a_job(), "fail", error="{}", finished=True))
        await desk.silent()
        closed = desk.apart.closed
        await until(lambda: desk.apart.closed > closed, "and again after it was used")


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("faults", [1, 3])
async def test_an_error_that_nobody_foresaw_loses_no_word(faults: int) -> None:
    words = [*failures(4), *(Word(a_job(), "complete") for _ in range(4)), Word(a_job(), "release")]
    left = faults

    def hears(_verb: str, _jobs: list[bytes]) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(24, "Too many open files")

    async with reporting() as desk:
        desk.database.hears = desk.apart.hears = hears
        desk.say(*words)
        await desk.silent()
    assert {job: len(answers) for job, answers in desk.answers.items()} == dict.fromkeys(ids(words), 1)
    assert desk.reporter.backlog == 0


@pytest.mark.usefixtures("soon")
async def test_a_word_that_always_fails_holds_up_no_other() -> None:
    words = failures(9)
    bad = {words[4].job.id_bytes}
    async with reporting() as desk:
        for database in (desk.database, desk.apart):
            database.refuse(bad, TypeError("nobody foresaw this"))
        desk.say(*words)
        await until(lambda: len(desk.answers) == 8, "all others have their answers")
        tried = len(desk.apart.told)
        await until(lambda: len(desk.apart.told) > tried + 2, "it is tried again")
        assert (desk.reporter.backlog, bad & {*desk.answers}) == (1, set())


async def test_an_answer_that_nobody_can_take_keeps_no_other_back() -> None:
    words = failures(4)
    async with reporting() as desk:
        answered = desk.reporter._answered

        def stumble(some: Sequence[Word], answer: Answer) -> None:
            answered(some, answer)
            if some[0] is words[1]:
                raise RuntimeError("cannot start a thread")

        desk.reporter._answered = stumble
        desk.say(*words)
        await desk.silent()
    assert {job: len(answers) for job, answers in desk.answers.items()} == dict.fromkeys(ids(words), 1)


@pytest.mark.parametrize("then", [InvalidInput("malformed"), Unavailable("held", sqlstate="55P03")])
@pytest.mark.usefixtures("soon")
async def test_a_database_that_refuses_a_word_knows_it(then: Exception) -> None:
    """A worker that went on believing otherwise would claim nothing any more."""
    answers: list[Exception] = [SchemaMismatch("gone"), then]

    def hears(_verb: str, _jobs: list[bytes]) -> None:
        if answers:
            raise answers.pop(0)

    async with reporting() as desk:
        desk.database.hears = hears
        desk.say(Word(a_job(), "complete"))
        await until(lambda: desk.reporter.mismatch, "it finds out")
        await desk.silent()
        assert not desk.reporter.mismatch
