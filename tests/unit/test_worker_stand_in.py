"""Two threads that take from the same places, and signs of life."""

import asyncio
import itertools
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from windlass.model import ClaimedJob
from windlass.worker import line
from windlass.worker.attempts import Attempts
from windlass.worker.hand_over import take, take_all
from windlass.worker.last_resort import LastResort
from windlass.worker.leases import Lease
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.silence import Silence
from windlass.worker.stand_in import SILENT_SECONDS
from windlass.worker.words import Limits

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def _threads_that_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def a_job(n: int) -> ClaimedJob:
    return ClaimedJob(
        uuid4(), uuid4(), "default", "quick", 0, {"n": n}, uuid4(), 1, 0, 5, NOW, "trace", None, NOW, None
    )


def test_a_thing_is_taken_once() -> None:
    things = {1, 2}
    assert (take(things, 1), take(things, 1), things) == (True, False, {2})
    line = deque([1, 2, 3])
    assert (take_all(line), take_all(line)) == ([1, 2, 3], [])


def some_attempts(ran: list[int], said: list[int]) -> Attempts:
    """Of a kind that notes its runs; a note is made of each word too."""

    async def quick(n: int) -> None:
        ran.append(n)

    registry = Registry()
    registry.add(JobDefinition.from_function(quick))
    return Attempts(
        *(registry, 1, "w", Limits(), lambda *_: None),
        say=lambda attempt, _: said.append(attempt.job.payload["n"]),
        ended=lambda _: None,
    )


@pytest.mark.parametrize("shared", [True, False], ids=["in line", "with tasks of their own"])
async def test_who_has_taken_an_attempt_speaks_of_it_however_late(
    monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr(line, "SHARES_TASKS", shared)
    ran: list[int] = []
    said: list[int] = []
    attempts = some_attempts(ran, said)
    job = a_job(1)
    attempt = attempts.start(job, Lease(job.token_bytes, NOW, 0.0, 1.0))
    assert attempts.take_unbegun() == [attempt]
    for _ in range(5):  # the loop is awake, and finds nothing to begin
        await asyncio.sleep(0)
    assert (ran, said) == ([], [])
    assert attempts.take_word(attempt, attempt.stop_word("shutdown"))
    attempts.forget([attempt])
    await attempts.settled()
    await attempts.quiet()
    assert (ran, said, attempts.busy) == ([], [], 0)
    attempts.close()


@pytest.mark.usefixtures("_threads_that_change_often")
@pytest.mark.parametrize("shared", [True, False], ids=["in line", "with tasks of their own"])
async def test_what_one_thread_gives_back_while_another_begins_jobs_is_never_run(
    monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """The loop is wide awake all the time: whoever takes a job first has it, and its slot is free again."""
    monkeypatch.setattr(line, "SHARES_TASKS", shared)
    ran: list[int] = []
    said: list[int] = []
    given_back: list[int] = []

    attempts = some_attempts(ran, said)
    loop, over = asyncio.get_running_loop(), threading.Event()

    def give_back() -> None:
        while not over.is_set():
            taken = attempts.take_unbegun()
            for attempt in taken:
                assert attempts.take_word(attempt, attempt.stop_word("shutdown"))
                given_back.append(attempt.job.payload["n"])
            if taken:
                loop.call_soon_threadsafe(attempts.forget, taken)

    thread = threading.Thread(target=give_back)
    thread.start()
    numbers = itertools.count()
    until = time.monotonic() + 20.0
    while (min(len(ran), len(given_back)) < 200 or next(numbers) < 20000) and time.monotonic() < until:
        for n in itertools.islice(numbers, 10):
            job = a_job(n)
            attempts.start(job, Lease(job.token_bytes, NOW, 0.0, 1.0))
        await asyncio.sleep(0)
    over.set()
    await asyncio.to_thread(thread.join)
    await asyncio.wait_for(attempts.quiet(), 30)
    await asyncio.wait_for(attempts.settled(), 30)
    assert (attempts.busy, attempts.stuck, attempts.running) == (0, 0, [])
    assert min(len(ran), len(given_back)) > 0, "both had a part in it"
    assert ran == said, "nobody else spoke of what ran"
    assert set(Counter([*ran, *given_back]).values()) == {1}
    attempts.close()


async def test_a_loop_is_silent_from_when_it_was_asked() -> None:
    clock = 100.0
    silence = Silence(asyncio.get_running_loop(), 1.0)

    def look(later: float) -> float:
        nonlocal clock
        clock += later
        return silence.look()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windlass.worker.silence.elapsed_clock", lambda: clock)
        assert [look(1.0), look(0.5), look(1.0)] == [0.0, 0.5, 1.5]
        assert look(3600.0) == 2.5, "a pause of the whole process is nobody's silence"
        await asyncio.sleep(0)
        assert [look(1.0), look(1.0)] == [0.0, 1.0]


def test_nobody_waits_for_a_loop_that_is_closed() -> None:
    loop = asyncio.new_event_loop()
    silence = Silence(loop, 60.0)
    loop.close()
    assert [silence.look(), silence.look(), silence.look()] == [0.0, 0.0, 0.0]


class Hands:
    """What a last resort has at hand, and a note of what it did."""

    def __init__(self, patch: pytest.MonkeyPatch, grace_seconds: float) -> None:
        self.done: list[Any] = []
        self.now = 100.0
        for module in ("silence", "last_resort"):
            patch.setattr(f"windlass.worker.{module}.elapsed_clock", lambda: self.now)
        self.resort = LastResort([15, 2, 1], lambda: self, grace_seconds, lambda: self.done.append("end"))

    def ask_stop(self) -> None:
        self.done.append("ask")

    def leave(self, seconds: float) -> bool:
        self.done.append("leave")
        return seconds > 0

    def pass_by(self, seconds: float) -> list[Any]:
        """So much time passes; what was done beyond asking again."""
        self.done.clear()
        for _ in range(round(seconds / 0.1)):
            self.now += 0.1
            self.resort._look()
        return [deed for deed in self.done if deed != "ask"]


async def test_a_blocked_process_is_ended_after_its_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands(monkeypatch, 10.0)
    assert hands.pass_by(20) == [], "nobody has asked"
    await asyncio.sleep(0)
    hands.resort._hear(15)
    assert hands.done == ["ask"]
    hands.resort._hear(1)
    assert hands.pass_by(9.5) == [], "a hang-up is no second signal"
    assert hands.pass_by(0.7)[:2] == ["leave", "end"]


async def test_a_second_signal_is_for_now_but_not_for_a_loop_that_is_awake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hands = Hands(monkeypatch, 600.0)
    hands.resort._hear(15)
    hands.resort._hear(2)
    for _ in range(100):
        await asyncio.sleep(0)
        assert hands.pass_by(0.1) == [], "the loop does it by itself"
    assert hands.pass_by(SILENT_SECONDS + 0.2)[:2] == ["leave", "end"]
