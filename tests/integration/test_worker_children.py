"""Handlers in child processes: what they raise, how they die, and how long they may take to come up."""

import asyncio
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.crew import PATIENCE, Crew, until
from tests.support import Database
from windlass.errors import LeaseLost
from windlass.worker import attempt
from windlass.worker.context import JobContext


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def shout(text: str) -> str:
    return text.upper()


async def test_a_child_that_dies_fails_only_its_own_job(crew: Crew) -> None:
    crew.knows(die, isolation="process")
    crew.knows(shout, isolation="process")
    dead = [
        crew.enqueue("die", payload={"how": how}, max_attempts=1) for how in ("exit", "signal", "sys.exit")
    ]
    fine = [crew.enqueue("shout", payload={"text": str(n)}) for n in range(3)]
    async with crew.worker(concurrency=2) as worker:
        await worker.idle()
    assert [crew.outcomes(job_id) for job_id in dead] == [["failed"]] * 3
    messages = [crew.job(job_id).error["message"] for job_id in dead]
    assert "exit code 3" in messages[0]
    assert "signal 9" in messages[1]
    assert crew.job(dead[2]).error["type"] == "SystemExit"
    assert [crew.state(job_id) for job_id in fine] == ["succeeded"] * 3


def die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "signal":
        os.kill(os.getpid(), 9)
    raise SystemExit(4)


class Odd(BaseException):
    """Of those that nobody is meant to catch."""


UNUSUAL: dict[str, type[BaseException]] = {
    "asyncio.exceptions.CancelledError": asyncio.CancelledError,
    "GeneratorExit": GeneratorExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    f"{__name__}.Odd": Odd,
}


def raise_unusual(name: str) -> None:
    raise UNUSUAL[name](f"in {os.getpid()}")


async def raise_unusual_async(name: str) -> None:
    await asyncio.sleep(0)
    raise UNUSUAL[name](f"in {os.getpid()}")


@pytest.mark.parametrize("handler", [raise_unusual, raise_unusual_async])
async def test_what_a_child_raises_is_recorded_and_does_not_end_it(crew: Crew, handler: Any) -> None:
    crew.knows(handler, kind="raise", isolation="process")
    ids = [crew.enqueue("raise", payload={"name": name}, max_attempts=1) for name in UNUSUAL]
    async with crew.worker(concurrency=1) as worker:
        await worker.idle()
        (child,) = worker.child_pids
    errors = [crew.job(job_id).error for job_id in ids]
    assert [(error["type"], error["message"]) for error in errors] == [
        (name, f"in {child}") for name in UNUSUAL
    ]


async def test_a_child_that_never_comes_to_its_handler_is_timed_out(
    crew: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the import of its module waits for something for ever."""
    waits = "import sys, time\nif sys.argv[0] == '-c':\n    time.sleep(600)\ndef handle():\n    pass\n"
    (tmp_path / "waits_at_import.py").write_text(waits)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setattr(attempt, "IMPORT_SECONDS", 0.5)
    import waits_at_import  # type: ignore[import-not-found]

    crew.knows(waits_at_import.handle, isolation="process", timeout=0.5)
    job_id = crew.enqueue("handle", max_attempts=1)
    before = time.monotonic()
    async with crew.worker() as worker:
        await worker.idle()
    assert crew.outcomes(job_id) == ["timed_out"]
    assert time.monotonic() - before >= 1.0, "its own time and that for its import"


held: list[int] = []
"""In the original, of `fork_and_return`: while this is open, its copy waits."""


def fork_and_return(who_first: str) -> str:
    """Both the process and its copy come back from here."""
    reader, writer = os.pipe()
    copy = os.fork()
    if not copy:
        os.close(writer)
        if who_first == "original":
            os.read(reader, 1)
    elif who_first == "original":
        held.append(writer)
    else:
        os.waitpid(copy, 0)
    logging.getLogger("forked").warning("%s speaks", "original" if copy else "copy")
    return "original" if copy else "copy"


def say_number(number: int) -> int:
    while held:
        os.close(held.pop())
    return number


@pytest.mark.parametrize("who_first", ["copy", "original"])
async def test_a_copy_that_a_handler_forked_says_nothing(
    crew: Crew, who_first: str, capfd: pytest.CaptureFixture[str]
) -> None:
    crew.knows(fork_and_return, isolation="process")
    crew.knows(say_number, isolation="process")
    forked = crew.enqueue("fork_and_return", payload={"who_first": who_first}, priority=1)
    later = [crew.enqueue("say_number", payload={"number": n}) for n in range(4)]
    async with crew.worker(concurrency=1, lease_seconds=2.0) as worker:
        await worker.idle()
        assert crew.job(forked).result == "original"
        assert [crew.job(job_id).result for job_id in later] == [0, 1, 2, 3]
        assert [crew.outcomes(job_id) for job_id in later] == [["succeeded"]] * 4
        assert crew.leases == 0
        assert len(worker.child_pids) == 1, "no reason to kill it"
    if who_first == "copy":
        assert "copy speaks" in capfd.readouterr().err, "what a copy logs is not lost"


def fork_and_crash() -> None:
    """The copy stays, with all that was open here."""
    if os.fork():
        os._exit(3)
    time.sleep(600)


async def test_a_crash_is_heard_of_although_a_copy_lives_on(crew: Crew) -> None:
    crew.knows(fork_and_crash, isolation="process")
    job_id = crew.enqueue("fork_and_crash", max_attempts=1)
    async with crew.worker() as worker:
        await asyncio.wait_for(worker.idle(), PATIENCE)
    assert "exit code 3" in crew.job(job_id).error["message"]


def pay_in_copy(ctx: JobContext) -> str:
    """As in `fork_and_return`, but the copy has things to say."""
    reader, writer = os.pipe()
    if copy := os.fork():
        os.close(writer)
        os.waitpid(copy, 0)
        with os.fdopen(reader) as heard:
            return heard.read()
    try:
        ctx.cost(5, "copy")
    except LeaseLost:
        os.write(writer, b"refused")
    os._exit(0)


async def test_a_copy_enters_no_cost(crew: Crew) -> None:
    crew.knows(pay_in_copy, isolation="process")
    job_id = crew.enqueue("pay_in_copy", max_attempts=1)
    async with crew.worker() as worker:
        await asyncio.wait_for(worker.idle(), PATIENCE)
    assert crew.job(job_id).result == "refused"
    assert [attempt.cost_cents for attempt in crew.attempts(job_id)] in ([None], [0])


def close_everything() -> None:
    """And leave a thread that keeps the interpreter from ending."""
    threading.Thread(target=time.sleep, args=(600,)).start()
    os.closerange(3, 256)


def become_another() -> None:
    os.execvp("sleep", ["sleep", "600"])


@pytest.mark.parametrize("handler", [close_everything, become_another])
async def test_a_child_that_can_no_longer_speak_has_crashed(crew: Crew, handler: Any) -> None:
    crew.knows(handler, kind="vanish", isolation="process")
    job_id = crew.enqueue("vanish", max_attempts=1)
    async with crew.worker() as worker:
        await asyncio.wait_for(worker.idle(), PATIENCE)
    assert crew.job(job_id).error["type"] == "ChildCrashed"


def log_and_linger() -> None:
    logging.getLogger("lingering").warning("a line that nobody reads")
    time.sleep(600)


@pytest.mark.parametrize("reason", ["timed_out", "canceled"])
async def test_a_log_that_does_not_return_holds_no_killed_child_s_job(crew: Crew, reason: str) -> None:
    read = threading.Event()
    reached = threading.Event()

    class Stuck(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            reached.set()
            read.wait(PATIENCE)

    log, stuck = logging.getLogger("lingering"), Stuck()
    log.addHandler(stuck)
    try:
        crew.knows(log_and_linger, isolation="process", timeout=1 if reason == "timed_out" else 600)
        job_id = crew.enqueue("log_and_linger", max_attempts=1)
        async with crew.worker() as worker:
            assert await asyncio.to_thread(reached.wait, PATIENCE)
            if reason == "canceled":
                crew.cancel(job_id)
            await until(lambda: crew.outcomes(job_id) == [reason], "its job is spoken of")
            assert worker.stuck == 1
            read.set()
            await worker.idle()
            assert worker.stuck == 0
    finally:
        read.set()
        log.removeHandler(stuck)
    assert crew.outcomes(job_id) == [reason]
