"""The line that sums up what a worker did: when it comes, and what it says."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from windlass.telemetry import HumanFormatter, JsonFormatter, Signal, Telemetry, log_signals
from windlass.worker import summary
from windlass.worker.counts import Counts
from windlass.worker.signals import Signals
from windlass.worker.summary import EVERY_SECONDS, FIRST_SECONDS, Summary


class Stage:
    """A summary with a clock of ours; `due` is when it is going to speak."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, signals: Signals | None = None) -> None:
        self.now = 1000.0
        self.heard: list[Signal] = []
        self.counts = Counts()
        self.due: float | None = None
        self._speak: Callable[[], None] = lambda: None
        monkeypatch.setattr(summary, "elapsed_clock", lambda: self.now)
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: self)
        self.summary = Summary(self.counts, signals or Signals(Telemetry([self.heard.append]), "mill"))

    def call_later(self, seconds: float, speak: Callable[[], None]) -> "Stage":
        assert self.due is None, "one timer at a time"
        self.due, self._speak = self.now + seconds, speak
        return self

    def cancel(self) -> None:
        self.due = None

    def count(self, **more: int) -> None:
        self.summary.expect()
        for name, count in more.items():
            setattr(self.counts, name, getattr(self.counts, name) + count)

    def pass_by(self) -> None:
        """Until the timer rings."""
        assert self.due is not None
        self.now = self.due
        self._speak()

    @property
    def messages(self) -> list[Any]:
        return [signal.fields["message"] for signal in self.heard]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_the_first_line_comes_soon_and_the_next_ones_every_ten_seconds(stage: Stage) -> None:
    stage.count(succeeded=1)
    assert stage.due == stage.now + FIRST_SECONDS
    stage.pass_by()
    assert stage.messages == ["1 job succeeded in 1.0 s"]
    stage.now += 0.5
    stage.count(succeeded=1000)
    stage.count(succeeded=234)
    assert stage.due == stage.now - 0.5 + EVERY_SECONDS
    stage.pass_by()
    assert stage.messages[1:] == ["1,234 jobs succeeded in 9.5 s"]


def test_nothing_is_said_while_nothing_happens(stage: Stage) -> None:
    stage.summary.tell()
    stage.count(succeeded=2)
    stage.pass_by()
    assert stage.due is None, "no timer runs, so nobody is woken"
    stage.now += 3600
    stage.count()
    stage.pass_by()
    assert stage.messages == ["2 jobs succeeded in 1.0 s"]
    stage.count(succeeded=1)
    stage.now += EVERY_SECONDS * 2
    stage.summary.tell()
    assert len(stage.messages) == 2


def test_whoever_rested_is_heard_soon_again(stage: Stage) -> None:
    stage.count(succeeded=2)
    stage.pass_by()
    stage.now += EVERY_SECONDS
    stage.count(succeeded=1)
    assert stage.due == stage.now + FIRST_SECONDS


def test_each_attempt_is_counted_once_and_what_did_not_happen_is_not_named(stage: Stage) -> None:
    stage.count(succeeded=9, failed=3, timed_out=2, dead=1)
    stage.count(skipped=1, canceled=2, snoozed=3, released=4, lost=5)
    stage.now += 0.25
    stage.summary.tell()
    (signal,) = stage.heard
    assert (signal.name, signal.level) == ("worker.summary", logging.INFO)
    assert signal.fields == {
        "message": "9 jobs succeeded, 4 failed, 1 dead, 1 skipped, 2 canceled, 3 snoozed, 4 released, 5 lost "
        "in 0.2 s",
        "worker_id": "mill",
        "seconds": 0.25,
        "succeeded": 9,
        "failed": 4,
        "dead": 1,
        "skipped": 1,
        "canceled": 2,
        "snoozed": 3,
        "released": 4,
        "lost": 5,
    }
    assert stage.due is None


def test_where_the_log_would_not_show_it_there_is_no_timer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(monkeypatch, Signals())
    caplog.set_level(logging.WARNING, "windlass.worker")
    stage.count(succeeded=7)
    assert stage.due is None
    caplog.set_level(logging.INFO, "windlass.worker")
    stage.count(succeeded=1)
    stage.pass_by()
    assert caplog.messages == ["1 job succeeded in 1.0 s"], "the others were counted when nobody asked"


def test_a_person_reads_the_counts_once_and_a_machine_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "test.summary")
    log_signals(logging.getLogger("test.summary"))(
        Signal("worker.summary", logging.INFO, {"message": "7 jobs succeeded in 1.0 s", "succeeded": 7})
    )
    (record,) = caplog.records
    assert HumanFormatter().format(record).endswith("info     7 jobs succeeded in 1.0 s")
    assert '"succeeded": 7' in JsonFormatter().format(record)


def test_a_success_is_logged_at_debug_and_told_to_subscribers_as_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[Signal] = []
    telemetry = Telemetry([log_signals(logging.getLogger("test.summary")), heard.append])
    for level in (logging.INFO, logging.DEBUG):
        caplog.set_level(level, "test.summary")
        telemetry.emit("job.succeeded", job_id="a")
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert [signal.level for signal in heard] == [logging.INFO] * 2
