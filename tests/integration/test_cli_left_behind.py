"""`windlass worker` told to stop while what its handlers began goes on, which nobody can stop."""

import signal
from pathlib import Path

import pytest

from tests.integration.command import Answer, Command, Running, eventually
from tests.support import Database

APPLICATION = """
import asyncio
import logging
import time
from pathlib import Path

from windlass import Windlass

app = Windlass()


def hold() -> None:
    Path("begun").touch()
    time.sleep(600)


@app.cluster_job()
def compact() -> None:
    hold()


@app.cluster_job()
async def be_deaf() -> None:
    Path("begun").touch()
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass


@app.job
async def hand_over(threads: int) -> None:
    await asyncio.gather(*[asyncio.to_thread(hold) for _ in range(threads)])


def finish() -> None:
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    Path("finished").touch()


@app.job
async def leave() -> None:
    asyncio.get_running_loop().run_in_executor(None, finish)


@app.job
def speak() -> None:
    print("unread")
    hold()


class Held(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        hold()


log = logging.getLogger("held")
log.propagate = False
log.addHandler(Held())


@app.job
def note() -> None:
    log.warning("this is a line that is never written")
"""

MORE_THAN_THERE_ARE = 40
"""The loop has 32 threads at most for what it is given."""


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    (tmp_path / "mill.py").write_text(APPLICATION)
    return Command(tmp_path, db.url())


def outcomes(windlass: Command, job_id: str) -> list[str | None]:
    attempts = windlass.here("jobs", "show", job_id, "--json").ok().json["attempts"]
    return [attempt["outcome"] for attempt in attempts]


def await_begun(windlass: Command) -> None:
    eventually((windlass.cwd / "begun").exists, "the handler has begun")


def end(windlass: Command, worker: Running, signals: int) -> Answer:
    """Send so many signals once its handler has begun, the second after the first was heard."""
    await_begun(windlass)
    worker.send()
    if signals == 2:
        eventually(lambda: "worker stopping" in worker.log, "it has heard the first signal")
    return worker.stop()


def assert_left(windlass: Command, job_id: str) -> None:
    assert outcomes(windlass, job_id) == ["released"]
    assert windlass.here("nodes", "--json").ok().json["items"] == [], "it has said farewell"


@pytest.mark.parametrize("threads", [1, MORE_THAN_THERE_ARE])
def test_threads_of_the_loop_do_not_outlive_the_grace_period(windlass: Command, threads: int) -> None:
    job_id = windlass.here("enqueue", "hand_over", f'{{"threads": {threads}}}').ok().out.strip()
    with windlass.running("worker", "mill:app", "--grace", "1s") as worker:
        await_begun(windlass)
        ended = worker.stop()
    assert ended.code == 0
    assert "worker stopped" in ended.err
    assert_left(windlass, job_id)


@pytest.mark.parametrize("threads", [1, MORE_THAN_THERE_ARE])
def test_threads_of_the_loop_end_at_the_second_signal(windlass: Command, threads: int) -> None:
    job_id = windlass.here("enqueue", "hand_over", f'{{"threads": {threads}}}').ok().out.strip()
    with windlass.running("worker", "mill:app", "--grace", "10m") as worker:
        await_begun(windlass)
        worker.send()
        eventually(lambda: "worker stopping" in worker.log, "it has heard the first signal")
        ended = worker.stop(signal.SIGINT)
    assert ended.code == 0
    assert_left(windlass, job_id)


def test_what_a_handler_left_in_a_thread_of_the_loop_may_finish_within_the_grace_period(
    windlass: Command,
) -> None:
    windlass.here("enqueue", "leave", "{}").ok()
    with windlass.running("worker", "mill:app", "--grace", "10m") as worker:
        await_begun(windlass)
        worker.send()
        eventually(lambda: "worker stopped" in worker.log, "no handler runs any more")
        (windlass.cwd / "go").touch()
        eventually(lambda: worker.ended, "it ends by itself")
        assert worker.stop().code == 0
    assert (windlass.cwd / "finished").exists()


def test_a_thread_that_cannot_be_stopped_ends_with_a_worker_whose_output_nobody_reads(
    windlass: Command,
) -> None:
    job_id = windlass.here("enqueue", "speak", "{}").ok().out.strip()
    with windlass.running("worker", "mill:app", "--grace", "1s") as worker:
        worker.close_output()
        await_begun(windlass)
        worker.send()
        eventually(lambda: worker.ended, "it ends although it cannot write what it has said")
        assert worker.stop().code == 0
    assert_left(windlass, job_id)


@pytest.mark.parametrize("signals", [1, 2])
def test_a_thread_that_holds_the_lock_of_a_log_ends_with_the_worker(windlass: Command, signals: int) -> None:
    job_id = windlass.here("enqueue", "note", "{}").ok().out.strip()
    with windlass.running("worker", "mill:app", "--grace", "1s" if signals == 1 else "10m") as worker:
        ended = end(windlass, worker, signals)
    assert ended.code == 0
    assert_left(windlass, job_id)


@pytest.mark.parametrize("kind", ["compact", "be_deaf"])
@pytest.mark.parametrize("signals", [1, 2])
def test_a_part_that_cannot_be_stopped_ends_with_the_node(windlass: Command, kind: str, signals: int) -> None:
    with windlass.running("worker", "mill:app", "--grace", "1s" if signals == 1 else "10m") as worker:
        eventually(
            lambda: windlass.here("cluster", "create", kind, "--json").code == 0, "the node has said hello"
        )
        ended = end(windlass, worker, signals)
    assert ended.code == 0
    assert windlass.here("nodes", "--json").ok().json["items"] == [], "it has said farewell"
