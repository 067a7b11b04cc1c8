"""`windlass worker` and `windlass up` told to stop while a handler blocks their event loop."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.command import Command, eventually
from tests.support import Database

BLOCKING = """
import os
import signal
import time
from pathlib import Path

from windlass import Windlass

app = Windlass()


@app.job
async def block(until: str) -> str:
    Path("blocked").touch()
    while not Path(until).exists():
        time.sleep(0.05)
    return "done"


@app.job
async def quick() -> None:
    Path("began").touch()


@app.job
def fork() -> int:
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.write(theirs, b"there")
        signal.alarm(30)  # should it outlive what is meant to end it
        signal.pause()
        os._exit(0)
    os.read(ours, 5)
    os.kill(child, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    (tmp_path / "mill.py").write_text(BLOCKING)
    return Command(tmp_path, db.url())


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the server's account may enter, which pytest's own are not for root."""
    path = Path(tempfile.mkdtemp(prefix="windlass-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def enqueue(windlass: Command) -> tuple[str, list[str]]:
    """One that blocks, and two that stand behind it."""
    blocks = windlass.here("enqueue", "block", '{"until": "enough"}').ok().out.strip()
    return blocks, [windlass.here("enqueue", "quick", "{}").ok().out.strip() for _ in range(2)]


def outcomes(windlass: Command, job_id: str) -> list[str | None]:
    attempts = windlass.here("jobs", "show", job_id, "--json").ok().json["attempts"]
    return [attempt["outcome"] for attempt in attempts]


def give_back(windlass: Command, others: list[str]) -> None:
    given = [["released"], ["released"]]
    eventually(
        lambda: [outcomes(windlass, job_id) for job_id in others] == given,
        "what has not begun is given back",
    )


@pytest.mark.parametrize(("second", "loop"), [(signal.SIGTERM, "uvloop"), (signal.SIGINT, "asyncio")])
def test_a_second_signal_ends_a_blocked_worker(windlass: Command, second: signal.Signals, loop: str) -> None:
    if loop == "asyncio":
        (windlass.cwd / "uvloop.py").write_text("raise ImportError\n")
    blocks, others = enqueue(windlass)
    with windlass.running("worker", "mill:app", "--grace", "10m") as worker:
        eventually((windlass.cwd / "blocked").exists, "the handler blocks the loop")
        worker.send(signal.SIGHUP)
        give_back(windlass, others)
        worker.send(signal.SIGHUP)  # which is no second request
        eventually(lambda: "blocks the event loop" in worker.log, "it says why it does not stop")
        assert outcomes(windlass, blocks) == [None]
        ended = worker.stop(second)
    assert ended.code == 0
    assert outcomes(windlass, blocks) == ["released"]
    assert not (windlass.cwd / "began").exists()
    assert "the async handler of block blocks the event loop" in ended.err
    assert windlass.here("nodes", "--json").ok().json["items"] == [], "it has said farewell"


def test_a_blocked_worker_ends_after_its_grace_period(windlass: Command) -> None:
    blocks, others = enqueue(windlass)
    with windlass.running("worker", "mill:app", "--grace", "1s") as worker:
        eventually((windlass.cwd / "blocked").exists, "the handler blocks the loop")
        ended = worker.stop()
    assert ended.code == 0
    assert [outcomes(windlass, job_id) for job_id in (blocks, *others)] == [["released"]] * 3
    assert not (windlass.cwd / "began").exists()


def test_a_handler_that_lets_the_loop_go_within_the_grace_period_succeeds(windlass: Command) -> None:
    blocks, others = enqueue(windlass)
    with windlass.running("worker", "mill:app", "--grace", "10m") as worker:
        eventually((windlass.cwd / "blocked").exists, "the handler blocks the loop")
        worker.send()
        give_back(windlass, others)
        (windlass.cwd / "enough").touch()
        eventually(lambda: worker.ended, "it ends without a further word")
        ended = worker.stop()
    assert ended.code == 0
    assert "worker stopping" in ended.err
    assert outcomes(windlass, blocks) == ["succeeded"]
    assert not (windlass.cwd / "began").exists()


def test_up_that_is_blocked_stops_its_server(place: Path) -> None:
    (place / "mill.py").write_text(BLOCKING)
    windlass = Command(place, WINDLASS_DATA_DIR=str(place / "data"))
    with windlass.running("up", "--app", "mill:app", "--grace", "1s") as up:
        blocks, _ = enqueue(windlass)
        eventually((place / "blocked").exists, "the handler blocks the loop")
        ended = up.stop()
    assert ended.code == 0
    assert not (place / "data" / "pgdata" / "postmaster.pid").exists(), ended.err
    with windlass.running("up") as again:
        assert outcomes(windlass, blocks) == ["released"], ended.err
        assert again.stop().code == 0


def test_a_signal_for_a_process_that_a_handler_forked_is_not_the_workers(windlass: Command) -> None:
    with windlass.running("worker", "mill:app") as worker:
        done = windlass("enqueue", "fork", "{}", "--wait", "--wait-timeout", "60")
        assert done.ok().out == f"-{int(signal.SIGTERM)}\n", "it ended the process, as it would any other"
        again = windlass("enqueue", "quick", "{}", "--wait", "--wait-timeout", "60")
        assert again.code == 0
        assert "stopping" not in worker.log
        assert worker.stop().code == 0
