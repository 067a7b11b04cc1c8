"""What the demo says: its checks can fail, and its board and summary show what happened."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
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
