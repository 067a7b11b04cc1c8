"""The demo: it ends well, leaves nothing behind however it ends, and its checks can fail."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console

from windlass.demo.board import LiveView
from windlass.demo.proof import Check, Evidence, judge
from windlass.demo.stage import TENANTS, Record
from windlass.demo.summary import conclude
from windlass.demo.tally import Tally
from windlass.demo.view import PlainView, open_view
from windlass.model import Attempt, Job, JobState, Node, Outcome, uuid7

NOW = datetime(2031, 1, 1, tzinfo=UTC)
NODE = UUID(int=9)
PATIENCE = 60.0

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


def make_job(state: JobState = JobState.SUCCEEDED, **fields: Any) -> Job:
    given: dict[str, Any] = {
        "id": uuid7(),
        "tenant_id": UUID(int=1),
        "queue": "default",
        "kind": "send_receipt",
        "priority": 0,
        "payload": {},
        "run_at": NOW,
        "created_at": NOW,
        "max_attempts": 2,
    }
    return Job(**{**given, "state": state, **fields})


def make_attempts(job: Job, *outcomes: Outcome) -> list[Attempt]:
    return [
        Attempt(job_id=job.id, number=number, started_at=NOW, node_id=NODE, outcome=outcome, counted=number)
        for number, outcome in enumerate(outcomes, 1)
    ]


class Case:
    """A small story in which all went well, to be spoiled by a test."""

    def __init__(self) -> None:
        crashed, good = Outcome.CRASHED, Outcome.SUCCEEDED
        self.plain, self.held, self.redriven = make_job(), make_job(), make_job()
        self.poison, self.canceled = make_job(JobState.DEAD), make_job(JobState.CANCELED)
        self.jobs = [self.plain, self.held, self.redriven, self.poison, self.canceled]
        self.attempts = {
            self.plain.id: make_attempts(self.plain, good),
            self.held.id: make_attempts(self.held, crashed, good),
            self.redriven.id: make_attempts(self.redriven, good),
            self.poison.id: make_attempts(self.poison, crashed, crashed),
            self.canceled.id: [],
        }
        self.trespasses: list[UUID] = []
        self.record = Record(
            enqueued=dict.fromkeys((job.id for job in self.jobs), "anchor-bank"),
            duplicates=[(self.plain.id, self.plain.id)],
            conflicts=1,
            held={self.held.id: NODE},
            poison=self.poison.id,
            canceled=self.canceled.id,
            gated=[self.plain.id],
            dead=[self.redriven.id],
        )

    @property
    def evidence(self) -> Evidence:
        jobs = {slug: self.jobs if slug == "anchor-bank" else [] for slug in TENANTS}
        return Evidence(Tally(jobs), self.attempts, self.trespasses)

    def change(self, job: Job, **fields: Any) -> None:
        self.jobs[self.jobs.index(job)] = replace(job, **fields)

    def failures(self) -> list[str]:
        return [check.text for check in judge(self.record, self.evidence) if not check.passed]


def test_a_story_without_fault_passes_every_check() -> None:
    assert Case().failures() == []


def lose_a_job(case: Case) -> None:
    case.jobs.remove(case.plain)


def find_a_stranger(case: Case) -> None:
    del case.record.enqueued[case.plain.id]


def leave_one_running(case: Case) -> None:
    case.change(case.plain, state=JobState.RUNNING)
    case.attempts[case.plain.id] = []


def succeed_twice(case: Case) -> None:
    case.attempts[case.plain.id] = make_attempts(case.plain, Outcome.SUCCEEDED, Outcome.SUCCEEDED)


def try_too_often(case: Case) -> None:
    outcomes = [Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED]
    case.attempts[case.plain.id] = make_attempts(case.plain, *outcomes)


def make_a_second_job(case: Case) -> None:
    case.record.duplicates = [(case.held.id, case.plain.id)]


def refuse_no_conflict(case: Case) -> None:
    case.record.conflicts = 0


def run_the_canceled(case: Case) -> None:
    case.attempts[case.canceled.id] = make_attempts(case.canceled, Outcome.FAILED)


def kill_an_idle_worker(case: Case) -> None:
    case.record.held = {}


def crash_elsewhere(case: Case) -> None:
    case.record.held = {case.held.id: UUID(int=8)}


def survive_the_poison(case: Case) -> None:
    case.attempts[case.poison.id] = make_attempts(case.poison, Outcome.CRASHED, Outcome.FAILED)


def stay_dead(case: Case) -> None:
    case.change(case.redriven, state=JobState.DEAD)
    case.attempts[case.redriven.id] = make_attempts(case.redriven, Outcome.FAILED, Outcome.FAILED)


def slip_through_the_gate(case: Case) -> None:
    case.record.past_the_gate = [case.plain.id]


def read_what_is_foreign(case: Case) -> None:
    case.trespasses = [case.plain.id]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lose_a_job, "every job is accounted for: 5 enqueued, 4 found"),
        (find_a_stranger, "every job is accounted for: 4 enqueued, 5 found"),
        (leave_one_running, "every job has ended"),
        (succeed_twice, "no job succeeded twice"),
        (try_too_often, "more attempts than"),
        (make_a_second_job, "duplicate"),
        (refuse_no_conflict, "conflict"),
        (run_the_canceled, "canceled job never ran"),
        (kill_an_idle_worker, "killed worker"),
        (crash_elsewhere, "killed worker"),
        (survive_the_poison, "poison"),
        (stay_dead, "redriven"),
        (slip_through_the_gate, "gate"),
        (read_what_is_foreign, "no tenant could read"),
    ],
)
def test_each_check_notices_what_it_is_for(spoil: Callable[[Case], None], words: str) -> None:
    case = Case()
    spoil(case)
    failures = case.failures()
    assert [text for text in failures if words in text], failures


def test_the_summary_shows_what_contradicts_a_check() -> None:
    case, out = Case(), io.StringIO()
    checks = [Check("all is well"), Check("nothing is lost", [f"job {number}" for number in range(8)])]
    conclude(PlainView(out), case.evidence, checks, killed=3)
    text = out.getvalue()
    assert "   ok    all is well\n   FAIL  nothing is lost\n         job 0\n" in text
    assert "and 3 more" in text
    assert re.search(r"^   Anchor Bank +5 +3 +1 +1 +6 +0 +3$", text, re.MULTILINE)


def test_the_summary_says_which_attempts_do_not_add_up() -> None:
    case, out = Case(), io.StringIO()
    conclude(PlainView(out), case.evidence, [], killed=3)
    assert "given back" not in out.getvalue()
    case.attempts[case.plain.id] = make_attempts(case.plain, Outcome.RELEASED, Outcome.SUCCEEDED)
    conclude(PlainView(out), case.evidence, [], killed=3)
    assert "   1 attempt was given back by a worker that left, which does not count" in out.getvalue()


def test_the_board_shows_tenants_states_workers_and_events() -> None:
    out = io.StringIO()
    view = LiveView(Console(file=out, force_terminal=True, width=120, color_system=None))
    jobs = {"anchor-bank": [make_job(), make_job(), make_job(JobState.RUNNING)], "beacon-books": []}
    node = Node(
        id=NODE, name="worker-1", pid=4711, started_at=NOW, heartbeat_at=NOW, concurrency=4, running=1
    )
    with view:
        view.overhear("a [bold] event")
        view.show(Tally(jobs, [node], frozenset({4711})))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    assert re.search(r"anchor-bank +· +· +· +1 +2 +· +·", shown)
    assert "worker-1 pid 4711 ▮▯▯▯" in shown
    assert "a [bold] event" in shown


def test_a_narrow_board_shortens_no_word() -> None:
    out = io.StringIO()
    view = LiveView(Console(file=out, force_terminal=True, width=60, color_system=None))
    retrying = make_job(JobState.QUEUED, attempt=1)
    jobs = {name: [make_job(JobState.QUEUED), retrying, make_job(JobState.RUNNING)] for name in TENANTS}
    with view:
        view.show(Tally(jobs))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    assert re.search(r"^tenant +waiting +running +succeeded +dead +canceled *$", shown, re.MULTILINE), shown
    assert all(re.search(rf"^{name} +2 +1 +· +· +· *$", shown, re.MULTILINE) for name in TENANTS)
    assert "…" not in shown


def test_lines_where_there_is_no_terminal() -> None:
    assert isinstance(open_view(io.StringIO()), PlainView)
