"""Copies of the worker's process, which a handler forked and which live on, keep nothing from ending."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.command import SOURCE, Command, eventually
from tests.support import Database

APPLICATION = """
import os
import signal
import time
from pathlib import Path

from windlass import Windlass

app = Windlass()


@app.job
def copy() -> None:
    child = os.fork()
    if not child:
        signal.alarm(120)  # should it outlive what is meant to end it
        os.closerange(0, 3)  # whoever reads what the worker says does not wait for it
        while True:
            signal.pause()
    Path("copy").write_text(str(child))


@app.job(isolation="process")
def rest() -> None: ...


@app.job(isolation="process")
def burn() -> None:
    Path("new").write_text(str(os.getpid()))
    Path("new").rename("burning")
    time.sleep(600)
"""


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Iterator[Command]:
    (tmp_path / "mill.py").write_text(APPLICATION)
    yield Command(tmp_path, db.url())
    for name in ("copy", "burning"):
        if (tmp_path / name).exists() and is_alive(pid := int((tmp_path / name).read_text())):
            os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def run(windlass: Command, kind: str) -> None:
    windlass("enqueue", kind, "{}", "--wait", "--wait-timeout", "60").ok()


def copy(windlass: Command) -> int:
    """Have a copy made; its number."""
    run(windlass, "copy")
    pid = int((windlass.cwd / "copy").read_text())
    assert is_alive(pid)
    return pid


def burn(windlass: Command) -> tuple[str, int]:
    """A job that runs in a child, and the number of that."""
    job_id = windlass.here("enqueue", "burn", "{}").ok().out.strip()
    eventually((windlass.cwd / "burning").exists, "it burns")
    return job_id, int((windlass.cwd / "burning").read_text())


@pytest.mark.parametrize("child", [False, True], ids=["alone", "beside an idle child"])
def test_a_worker_ends_although_its_copy_lives_on(windlass: Command, child: bool) -> None:
    with windlass.running("worker", "mill:app", "--grace", "10m") as worker:
        if child:
            run(windlass, "rest")
        pid = copy(windlass)
        assert worker.stop().code == 0
    assert is_alive(pid)


def test_a_child_is_killed_although_a_copy_of_its_worker_lives_on(windlass: Command) -> None:
    with windlass.running("worker", "mill:app") as worker:
        job_id, child = burn(windlass)
        copied = copy(windlass)
        windlass.here("jobs", "cancel", job_id).ok()
        eventually(lambda: not is_alive(child), "the child is killed")
        assert is_alive(copied)
        assert worker.stop().code == 0


def test_a_child_ends_with_its_worker_although_a_copy_of_that_lives_on(windlass: Command) -> None:
    with windlass.running("worker", "mill:app") as worker:
        _, child = burn(windlass)
        copied = copy(windlass)
        assert worker.stop(signal.SIGKILL).code == -signal.SIGKILL
    eventually(lambda: not is_alive(child), "the child has heard that its worker is gone")
    assert is_alive(copied)


COPIED_MEANWHILE = """
import os, signal, subprocess, threading
from windlass.worker.children import Children

start, copies = subprocess.Popen, []


def copy():
    copies.append(os.fork())
    if not copies[0]:
        signal.alarm(120)
        os.closerange(0, 3)
        while True:
            signal.pause()


def start_beside_a_copy(*words, **options):
    process = start(*words, **options)
    copying.start()
    copying.join(0.5)  # it is not made now
    return process


subprocess.Popen, copying = start_beside_a_copy, threading.Thread(target=copy)
children = Children({})
child = children.take()
copying.join()
os.kill(child.pid, signal.SIGKILL)
print("heard" if child._connection.poll(20) else "not heard")
os.kill(copies[0], signal.SIGKILL)
child.close()
"""


def test_the_end_of_a_child_is_heard_although_a_copy_was_made_as_it_started() -> None:
    program = [sys.executable, "-W", "ignore", "-c", COPIED_MEANWHILE]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.returncode) == ("heard\n", 0), done.stderr
