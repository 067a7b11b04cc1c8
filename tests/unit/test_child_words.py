"""What a worker makes of what a child process says: only words on the order that it was given count."""

import logging
import multiprocessing
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

import pytest

from windlass.model import ClaimedJob, uuid7
from windlass.telemetry import job_fields, running_job
from windlass.worker.children import Child, Order, Target
from windlass.worker.words import Limits, Word


class _Process:
    """What is left of a process: whether it was killed."""

    pid = 0
    returncode = -9

    def poll(self) -> int:
        return self.returncode

    def wait(self) -> int:
        return self.returncode


class _Scripted(Child):
    """A child that has said already what it will say, and reads what it is told afterwards."""

    def __init__(self, *said: tuple[int, str, Any]) -> None:
        self._connection, self.theirs = multiprocessing.Pipe()
        self._process = _Process()  # type: ignore[assignment]
        self._killed = self._guarded = False
        self._number = 0
        for words in said:
            self.theirs.send(words)

    def heard(self) -> list[Any]:
        other: Connection = self.theirs
        return [other.recv() for _ in iter(other.poll, False)]


@pytest.fixture
def order() -> Order:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    job = ClaimedJob(
        uuid7(), uuid7(), "default", "k", 0, {}, uuid7(), 1, 0, 5, moment, None, None, moment, None
    )
    return Order(Target("m", None, "f"), job, "w", Limits(), moment, logging.INFO, {})


def other_word() -> Word:
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    job = ClaimedJob(
        uuid7(), uuid7(), "default", "k", 0, {}, uuid7(), 1, 0, 5, moment, None, None, moment, None
    )
    return Word(job, "complete", result='"of another job"')


def test_a_word_that_names_another_order_is_no_word_on_this_one(order: Order) -> None:
    child = _Scripted((1, "taken", 7), (0, "word", other_word()))
    word = child.run(order, lambda name, value: None)
    assert word is not None
    assert (word.verb, word.job) == ("fail", order.job)
    assert "ChildCrashed" in str(word.error)
    assert "another attempt" in str(word.error)
    assert not child.alive


def test_an_order_that_was_not_taken_is_for_another_child(order: Order) -> None:
    """Nothing of the job has run: it is not for it to fail."""
    child = _Scripted((0, "word", other_word()))
    child.theirs.close()
    assert child.run(order, lambda name, value: None) is None
    assert not child.alive


def test_an_order_that_was_taken_behind_a_wrong_word_has_begun(order: Order) -> None:
    child = _Scripted((0, "word", other_word()), (1, "taken", 7), (1, "begun", None))
    word = child.run(order, lambda name, value: None)
    assert word is not None
    assert (word.verb, word.job) == ("fail", order.job)


def test_a_cost_of_another_order_is_not_entered_for_this_one(order: Order) -> None:
    entered: list[Any] = []
    child = _Scripted((1, "taken", 7), (0, "cost", (5, "model", uuid7().bytes)))
    word = child.run(order, lambda name, value: entered.append(value) if name == "cost" else None)
    assert word is not None
    assert (word.verb, entered, child.alive) == ("fail", [], False)
    assert child.heard() == [(1, order)], "and gets no answer"


def test_a_late_line_is_not_a_line_of_this_job(order: Order) -> None:
    lines: list[dict[str, Any]] = []
    child = _Scripted((0, "log", "late"), (1, "log", "mine"), (1, "word", other_word()))
    with running_job("w", order.job):
        word = child.run(order, lambda name, value: lines.append({"said": value, **job_fields()}))
    assert [(line["said"], line.get("job_id")) for line in lines] == [
        ("late", None),
        ("mine", order.job.id_text),
    ]
    assert word is not None
    assert word.job is order.job, "whatever job it names: the order was this one"


def test_a_child_whose_words_cannot_be_read_is_not_asked_again(order: Order) -> None:
    child = _Scripted((1, "taken", 7), (1, "log", "a line"))

    def unreadable(name: str, value: Any) -> None:
        if name == "log":
            raise AttributeError("of a class that is not known here")

    with pytest.raises(AttributeError):
        child.run(order, unreadable)
    assert not child.alive
