"""What a worker does for itself it does in its own name, whichever job it is at just then."""

import asyncio
import contextvars
import logging
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from tests.integration.crew import until
from tests.unit.line_desk import NOW, Desk, quick, turns, waits
from windlass.model import ClaimedJob
from windlass.telemetry import JobFields, current_job
from windlass.worker import line, summary
from windlass.worker.attempt import Attempt
from windlass.worker.attempts import Attempts
from windlass.worker.counts import Counts
from windlass.worker.flow import Flow
from windlass.worker.leases import Lease, Leases, elapsed_clock
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.signals import Signals
from windlass.worker.words import Limits

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="the worker")


@pytest.fixture(autouse=True)
def _one_long_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "SLICE_SECONDS", 60.0)


def a_job(kind: str) -> ClaimedJob:
    return ClaimedJob(uuid4(), uuid4(), "default", kind, 0, {}, uuid4(), 1, 0, 5, NOW, "t", None, NOW, None)


def no_fault(what: str, error: BaseException) -> None:
    raise AssertionError(what) from error


async def sets_a_variable() -> None:
    VARIABLE.set("whose job this is")


async def fails_in_the_end() -> None:
    await asyncio.sleep(0)
    VARIABLE.set("whose job this is")
    raise ValueError


async def test_whoever_the_line_tells_is_called_in_the_name_of_none() -> None:
    desk = Desk()
    seen: list[Any] = []
    desk.told = lambda: seen.append((current_job(), VARIABLE.get()))
    desk.next = [quick, waits, sets_a_variable]
    for handler in (quick, waits, sets_a_variable, fails_in_the_end):
        desk.add(handler, timeout=60.0)
    await desk.settle(7)
    assert len(seen) > 3 * 4
    assert set(seen) == {(None, "the worker")}


async def test_what_is_set_by_one_who_is_told_is_found_by_no_job() -> None:
    found: list[str] = []

    async def looks() -> None:
        found.append(VARIABLE.get())

    desk = Desk()
    desk.told = lambda: VARIABLE.set("who was told")
    desk.next = [looks, looks]
    for handler in (quick, waits, looks, looks):
        desk.add(handler, timeout=60.0)
    await desk.settle(6)
    assert found == ["the worker"] * 4


async def test_a_look_that_comes_to_grief_does_so_in_the_name_of_none() -> None:
    """The loop tells of it in the context of the look."""
    desk = Desk()
    seen: list[Any] = []
    added: list[Attempt] = []

    def told() -> None:
        if desk.free == 1 and not added:
            added.extend((desk.add(quick), desk.add(waits)))
        elif desk.free == 2:
            desk.told = lambda: None
            raise MemoryError

    asyncio.get_running_loop().set_exception_handler(lambda *_: seen.append(current_job()))
    desk.told = told
    desk.add(waits)
    await desk.settle(3)
    assert seen == [None]


async def test_the_summary_after_a_lost_lease_is_of_no_job(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def runs_on() -> None:
        await asyncio.sleep(600)

    monkeypatch.setattr(summary, "FIRST_SECONDS", 0.0)
    caplog.set_level(logging.INFO, "windlass.worker")
    registry, leases = Registry(), Leases(60.0)
    registry.add(JobDefinition.from_function(runs_on))
    flow = Flow(1, leases, Counts(), Signals())
    flow.attempts = Attempts(registry, 1, "w", Limits(), no_fault, say=flow.say, ended=flow.ended)
    flow.begins = cast("Any", SimpleNamespace(waiting=0))
    flow.reporter = cast("Any", SimpleNamespace(backlog=0))
    flow.claims = cast("Any", SimpleNamespace(make_room=lambda: None))
    job = a_job("runs_on")
    with caplog.filtering(cast("Any", JobFields())):
        flow.admit([job], elapsed_clock())
        await turns(3)
        flow.hear_lost([job.token_bytes])
        await until(lambda: any("succeeded" in vars(record) for record in caplog.records), "a summary")
    found = [vars(record) for record in caplog.records if record.name == "windlass.worker"]
    assert [(record["signal"], record.get("job_id")) for record in found] == [
        ("lease.lost", job.id_text),
        ("worker.summary", None),
    ]
    flow.attempts.close()


def sleep_in_child() -> None:
    raise AssertionError("there is no child")


async def test_the_timer_of_a_child_that_has_begun_is_of_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def begins(attempt: Attempt, *_: Any) -> None:
        attempt._told("begun", None)

    registry, job = Registry(), a_job("sleep_in_child")
    registry.add(JobDefinition.from_function(sleep_in_child, isolation="process"))
    attempts = Attempts(registry, 1, "w", Limits(), no_fault, say=lambda *_: None, ended=lambda _: None)
    monkeypatch.setattr(Attempt, "run_in_child", begins)
    monkeypatch.setattr(attempts._deadlines, "expect", lambda _: seen.append(current_job()))
    attempts.start(job, Lease(job.token_bytes, NOW, 0.0, 1.0))
    await attempts.quiet()
    assert seen == [None, None]
    attempts.close()
