"""Last attempts on their way to their handlers: what is said of them, and what becomes of those that wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.integration.crew import until
from windlass.errors import Unavailable
from windlass.model import ClaimedJob
from windlass.worker import begins
from windlass.worker.attempt import Attempt
from windlass.worker.begins import Begins
from windlass.worker.leases import elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.signals import Signals


class Database:
    """Answers when it is let, with the refusals or the error that it was given; keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[list[tuple[bytes, bool]]] = []
        self.refuses: set[bytes] = set()
        self.errors: list[Exception] = []
        self.held: set[bytes] = set()
        self.open = asyncio.Event()
        self.open.set()

    async def run(self, call: Any) -> set[tuple[bytes, bytes]]:
        tokens, jobs, called = call.values
        self.told.append(list(zip(jobs.values, called, strict=True)))
        await self.open.wait()
        if self.errors:
            raise self.errors.pop()
        if self.held & {*tokens.values}:
            raise Unavailable("somebody holds the lease", sqlstate="55P03")
        pairs = zip(tokens.values, jobs.values, strict=True)
        return {(token, job) for token, job in pairs if job in self.refuses}


class Stage:
    """What is begun here only says that it was."""

    def __init__(self) -> None:
        self.database = Database()
        self.started: dict[bytes, Any] = {}
        self.lost: list[bytes] = []
        outage = Outage("beginning", Signals())
        self.begins = Begins(
            cast("Any", self.database), self._start, lambda job: self.lost.append(job.id_bytes), outage
        )

    def _start(self, job: ClaimedJob) -> Attempt:
        made = SimpleNamespace(job=job, said=False, begun=False, started=elapsed_clock())
        self.started[job.id_bytes] = made
        return cast("Attempt", made)

    def add(self, *names: bytes) -> None:
        for name in names:
            job = SimpleNamespace(id_bytes=name, token_bytes=b"t" + name)
            self.begins.add(cast("ClaimedJob", job))


@asynccontextmanager
async def running() -> AsyncIterator[Stage]:
    stage = Stage()
    task = asyncio.create_task(stage.begins.run())
    try:
        yield stage
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_comes_in_one_turn_shares_a_call_and_starts_after_the_answer() -> None:
    async with running() as stage:
        stage.database.open.clear()
        stage.add(b"a", b"b")
        await until(lambda: stage.database.told, "the database is told")
        assert (stage.started, stage.begins.waiting) == ({}, 2)
        stage.add(b"c")
        stage.database.open.set()
        await until(lambda: len(stage.started) == 3, "all start")
    assert stage.database.told == [[(b"a", False), (b"b", False)], [(b"c", False)]]
    assert stage.begins.waiting == 0


async def test_a_refused_one_is_lost_and_the_others_start() -> None:
    async with running() as stage:
        stage.database.refuses = {b"a"}
        stage.add(b"a", b"b")
        await until(lambda: stage.started and stage.lost, "both are answered")
    assert (stage.lost, [*stage.started]) == ([b"a"], [b"b"])


async def test_without_an_answer_it_is_said_again() -> None:
    async with running() as stage:
        stage.database.errors = [Unavailable("gone"), Unavailable("gone")]
        stage.add(b"a")
        await until(lambda: stage.started, "it starts")
    assert stage.database.told == [[(b"a", False)]] * 3


@pytest.mark.parametrize("which", [None, {b"a"}])
async def test_what_is_taken_back_does_not_start_whatever_the_answer(which: set[bytes] | None) -> None:
    async with running() as stage:
        stage.database.open.clear()
        stage.add(b"a", *([] if which is None else [b"b"]))
        await until(lambda: stage.database.told, "the database is told")
        assert [job.id_bytes for job in stage.begins.take_back(which)] == [b"a"]
        stage.database.open.set()
        stage.add(b"c")
        await until(lambda: b"c" in stage.started, "the next one starts")
    assert b"a" not in stage.started
    assert stage.lost == []


async def test_a_handler_that_was_called_and_runs_on_is_told_of_once() -> None:
    async with running() as stage:
        stage.add(b"runs", b"ended", b"waits")
        await until(lambda: len(stage.started) == 3, "all start")
        stage.started[b"ended"].said = True
        stage.started[b"runs"].begun = True
        await until(lambda: len(stage.database.told) == 2, "it is told of")
        stage.add(b"next")
        await until(lambda: b"next" in stage.started, "the next one starts")
    assert stage.database.told[1:] == [[(b"runs", True)], [(b"next", False)]]


async def test_a_lease_that_somebody_holds_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begins, "_HELD_AGAIN_SECONDS", 0.02)
    async with running() as stage:
        stage.database.held = {b"tb"}
        stage.add(b"a", b"b", b"c")
        await until(lambda: len(stage.started) == 2, "the others start")
        stage.add(b"d")
        await until(lambda: b"d" in stage.started, "the next one starts")
        stage.started[b"a"].begun = True
        await until(lambda: [(b"a", True)] in stage.database.told, "one that runs on is told of")
        assert b"b" not in stage.started
        stage.database.held = set()
        await until(lambda: b"b" in stage.started, "it starts when it is let go")
        stage.add(b"e", b"f")
        await until(lambda: b"f" in stage.started, "the next ones start")
    told = [{name for name, _ in told} for told in stage.database.told]
    assert told[0] == {b"a", b"b", b"c"}
    assert [*map(sorted, sorted(told[1:4], key=min))] == [[b"a"], [b"b"], [b"c"]], "then each by itself"
    assert stage.database.told[-1] == [(b"e", False), (b"f", False)], "and share a call again"


async def test_a_held_lease_is_not_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begins, "_HELD_AGAIN_SECONDS", 60.0)
    async with running() as stage:
        stage.database.held = {b"ta"}
        stage.add(b"a")
        for name in (b"b", b"c", b"d"):
            stage.add(name)
            await until(partial(stage.started.get, name), "it starts")
    assert sum((b"a", False) in told for told in stage.database.told) <= 2


async def test_a_held_lease_has_its_turn_also_while_others_keep_coming(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(begins, "_HELD_AGAIN_SECONDS", 0.0)
    stage = Stage()
    stage.database.held = {b"ta"}
    stage.add(b"a")
    for n in range(6):
        stage.add(b"%d" % n)
        await stage.begins._tell(*stage.begins._next())
        if n == 2:
            stage.database.held = set()
    assert b"a" in stage.started


async def test_held_jobs_that_are_taken_back_leave_nothing_behind() -> None:
    async with running() as stage:
        stage.database.held = {b"ta"}
        stage.add(b"a")
        await until(lambda: stage.database.told, "it is held")
        assert len(stage.begins.take_back()) == 1
        stage.begins._held = dict.fromkeys(stage.begins._held, 0.0)
        stage.add(b"b")
        await until(lambda: b"b" in stage.started, "the next one starts")
    assert (stage.begins._held, stage.begins.waiting) == ({}, 0)
