"""The demo: it ends well, leaves nothing behind however it ends, and is silent where nobody reads."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from uuid import UUID

import pytest

NOW = datetime(2031, 1, 1, tzinfo=UTC)
NODE = UUID(int=9)
PATIENCE = 60.0
README = Path(__file__).parents[2] / "README.md"

linux_only = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


class Demo:
    """The demo as a process, and everything that it started."""

    def __init__(self, module: Sequence[str] = ("windlass.demo",), stderr: int = subprocess.STDOUT) -> None:
        # A setting that would stop anybody who reads it: the demo must not.
        environment = {**os.environ, "WINDLASS_DATABASE_URL": "postgresql://nobody@nowhere.invalid/none"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", *module],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        self.lines: list[str] = []

    def read_until(self, text: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"the demo ended without {text!r}:\n{''.join(self.lines)}")

    def read_all(self) -> str:
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        self.process.wait(timeout=PATIENCE)
        return "".join(self.lines)

    def descendants(self) -> dict[int, str]:
        """Each process below the demo, and when it was started: a pid alone may come to be another's."""
        parents: dict[int, int] = {}
        for path in Path("/proc").glob("[0-9]*"):
            if (fields := stat_fields(int(path.name))) is not None:
                parents[int(path.name)] = int(fields[1])
        found, unseen = {}, [self.process.pid]
        while unseen:
            parent = unseen.pop()
            for child in (pid for pid, its in parents.items() if its == parent):
                if (fields := stat_fields(child)) is not None:
                    found[child] = fields[19]
                    unseen.append(child)
        return found

    def __enter__(self) -> "Demo":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def stat_fields(pid: int) -> list[str] | None:
    """What /proc says of a process after its name: state, parent, ..., start time; None if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields


def is_alive(pid: int, started: str) -> bool:
    fields = stat_fields(pid)
    return fields is not None and fields[19] == started


def server_homes(pids: dict[int, str]) -> list[Path]:
    """The directories of the PostgreSQL servers among these processes."""
    homes = []
    for pid in pids:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if words[0].endswith(b"/postgres") and b"-D" in words:
            homes.append(Path(os.fsdecode(words[words.index(b"-D") + 1])).parent)
    return homes


def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def demo() -> Iterator[Demo]:
    with Demo() as demo:
        yield demo


@linux_only
def test_the_whole_story(demo: Demo) -> None:
    demo.read_until("A day's work")
    started = demo.descendants()
    (home,) = server_homes(started)
    assert home.is_dir()
    text = demo.read_all()
    assert demo.process.returncode == 0, text
    assert "\x1b" not in text
    assert "FAIL" not in text
    assert len(re.findall(r"^   ok ", text, re.MULTILINE)) == 11
    jobs = re.search(r"(\d+) enqueued, (\d+) found", text)
    assert jobs is not None
    assert jobs[1] == jobs[2]
    assert int(jobs[1]) > 300
    assert "windlass up" in text
    assert not [pid for pid, since in started.items() if is_alive(pid, since)]
    assert not home.exists()
    shown = {without_numbers(line) for line in text.splitlines()}
    assert {without_numbers(line) for line in readme_excerpt()} <= shown


def readme_excerpt() -> list[str]:
    (excerpt,) = re.findall(r"^```text\n(tenant .*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    return str(excerpt).splitlines()


def without_numbers(line: str) -> str:
    return " ".join(re.sub(r"\d+", "N", line).split())


@linux_only
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_nothing_is_left_when_it_is_ended_early(demo: Demo, number: signal.Signals, code: int) -> None:
    demo.read_until("A day's work")
    started = demo.descendants()
    (home,) = server_homes(started)
    assert len(started) > 3

    def ended_by_an_impatient_hand() -> bool:
        demo.process.send_signal(number)
        return demo.process.poll() is not None

    eventually(ended_by_an_impatient_hand, "it does not end")
    text = demo.read_all()
    assert demo.process.returncode == code, text
    # After SIGKILL nobody is left to wait for the others, which notice by themselves.
    eventually(
        lambda: not [pid for pid, since in started.items() if is_alive(pid, since)], "processes are left"
    )
    eventually(lambda: not home.exists(), "files are left")
    assert "Traceback" not in text


@linux_only
def test_an_interrupt_before_it_has_begun_is_no_error(demo: Demo) -> None:
    importing = Path(f"/proc/{demo.process.pid}/maps")
    eventually(lambda: "_ssl" in importing.read_text(), "it imports its modules")
    demo.process.send_signal(signal.SIGINT)
    assert "Traceback" not in demo.read_all()
    assert demo.process.returncode in (-signal.SIGINT, 130)


@pytest.mark.parametrize("module", [["windlass.demo"], ["windlass", "demo"]], ids=" ".join)
def test_a_reader_that_leaves_early_ends_it_silently(module: list[str]) -> None:
    with Demo(module, subprocess.PIPE) as demo:
        demo.read_until("Windlass: durable jobs")
        assert demo.process.stdout is not None
        demo.process.stdout.close()
        assert demo.process.wait(timeout=PATIENCE) == 141
        assert demo.process.stderr is not None
        assert demo.process.stderr.read() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_device_is_told_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "windlass.demo"]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False
        )
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("the demo has no room to write to: ")
