"""A child process ends with all that it started, whatever that did to be alone, and nobody else does."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.integration.crew import PATIENCE, Crew, until
from tests.support import Database
from windlass.worker.warden import can_guard, dismiss

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")

# One of its own session, a shell with one in its group and one apart, and two that their parents have left.
_START = """
import ctypes, os, pathlib, signal, subprocess, sys, time
nap = "sleep 600 >&- 2>&- & echo $!"
apart = "setsid " + nap
pids = [subprocess.Popen(["sleep", "600"], start_new_session=True).pid]
shell = subprocess.Popen(f"{nap}; {apart}; exec >&-; wait", shell=True, stdout=-1, start_new_session=True)
left = subprocess.run(f"{nap}; {apart}", shell=True, stdout=-1)
pids += [shell.pid, *map(int, shell.stdout), *map(int, left.stdout.split()), os.getpid()]
"""


class Guarded:
    """A guarded process, of which the test is the worker."""

    def __init__(self, directory: Path, then: str) -> None:
        self._written = directory / "pids"
        lifeline, held = os.pipe()
        self._held: int | None = held
        spare = os.dup(lifeline)  # in place of what the child would speak through
        guard = f"from windlass.worker.warden import stand_guard\nstand_guard({lifeline}, {spare})\n"
        write = f"new = pathlib.Path({str(directory / 'new')!r})\nnew.write_text(repr(pids))\n"
        code = f"{guard}{_START}{write}new.rename({str(self._written)!r})\n{then}"
        self.warden = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[lifeline, spare], start_new_session=True
        )
        os.close(lifeline)
        os.close(spare)

    def started(self) -> list[int]:
        deadline = time.monotonic() + PATIENCE
        while not self._written.exists():
            assert time.monotonic() < deadline, "it does not come up"
            time.sleep(0.005)
        pids = [int(text) for text in self._written.read_text().strip("[]").split(",")]
        assert len(pids) == 7
        return pids

    def end(self) -> int:
        """How the warden ended, be it because nobody is there any more."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
        return self.warden.wait(PATIENCE)

    def dismiss(self) -> int:
        """The same, while another process has the end of the lifeline too."""
        assert self._held is not None
        held, self._held = self._held, os.dup(self._held)
        dismiss(held)
        return self.warden.wait(PATIENCE)


Guard: TypeAlias = Callable[[str], Guarded]


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    made: list[Guarded] = []

    def make(then: str) -> Guarded:
        made.append(Guarded(tmp_path, then))
        return made[-1]

    yield make
    for guarded in made:
        guarded.end()


@pytest.fixture
def bystander() -> Iterator[int]:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process.pid
        assert process.poll() is None, "it was nobody's child but ours"
        process.kill()


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


ENDS = {
    "it returns": ("", 0),
    "it exits": ("os._exit(3)", 3),
    "it crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
    "it kills its group": ("os.killpg(0, signal.SIGKILL)", -signal.SIGKILL),
}


@pytest.mark.parametrize("then", ENDS)
def test_what_a_child_started_ends_with_it(guard: Guard, then: str, bystander: int) -> None:
    code, expected = ENDS[then]
    guarded = guard(code)
    pids = guarded.started()
    assert guarded.warden.wait(PATIENCE) == expected, "which says how it ended"
    assert alive(pids) == []


BUSY = {
    "waits": "time.sleep(600)",
    "holds the interpreter": "ctypes.PyDLL(None).sleep(600)",
    "is deaf": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ntime.sleep(600)",
}


@pytest.mark.parametrize("meanwhile", BUSY)
def test_what_a_child_started_ends_with_the_worker(guard: Guard, meanwhile: str, bystander: int) -> None:
    guarded = guard(BUSY[meanwhile])
    pids = guarded.started()
    assert alive(pids) == pids
    assert guarded.end() == -signal.SIGKILL
    assert alive(pids) == []


def test_a_worker_that_is_gone_before_there_is_a_warden_is_noticed(guard: Guard) -> None:
    assert guard("time.sleep(600)").end() == -signal.SIGKILL


def test_one_that_is_dismissed_ends_although_others_have_its_lifeline(guard: Guard) -> None:
    guarded = guard("time.sleep(600)")
    pids = guarded.started()
    assert guarded.dismiss() == -signal.SIGKILL
    assert alive(pids) == []


def test_a_child_does_not_outlive_its_warden(guard: Guard) -> None:
    guarded = guard("time.sleep(600)")
    *others, child = guarded.started()
    guarded.warden.kill()
    deadline = time.monotonic() + PATIENCE
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    for pid in alive(others):  # nobody is left to see to them
        os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def start_and(path: str, then: str) -> None:
    """Start a process that is nobody's to find, by its group, its session or its parent."""
    apart = "import subprocess as s; print(s.Popen(['sleep', '600'], start_new_session=True, stdout=-3).pid)"
    shell = subprocess.run([sys.executable, "-c", apart], stdout=subprocess.PIPE, check=True)
    here = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(f"{path}.new").write_text(f"{int(shell.stdout)} {here.pid}")
    Path(f"{path}.new").rename(path)
    if then == "crash":
        os._exit(3)
    time.sleep(600)


@pytest.mark.parametrize("then", ["crash", "be canceled"])
async def test_of_an_attempt_that_is_over_nothing_runs_on(crew: Crew, tmp_path: Path, then: str) -> None:
    assert can_guard()
    crew.knows(start_and, isolation="process")
    job_id = crew.enqueue("start_and", payload={"path": str(tmp_path / "pids"), "then": then}, max_attempts=1)
    async with crew.worker():
        await until((tmp_path / "pids").exists, "it has started what it starts")
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        crew.cancel(job_id)
        await until(lambda: crew.outcomes(job_id), "it ends")
        assert alive(pids) == [], "as soon as it is over, and not only when the worker is"
    assert crew.outcomes(job_id) == ["failed" if then == "crash" else "canceled"]


async def test_a_worker_that_stops_leaves_nothing_behind(crew: Crew, tmp_path: Path) -> None:
    crew.knows(start_and, isolation="process")
    crew.enqueue("start_and", payload={"path": str(tmp_path / "pids"), "then": "sleep"})
    async with crew.worker(grace_seconds=0.1):
        await until((tmp_path / "pids").exists, "it has started what it starts")
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await until(lambda: not alive(pids), "they go")
