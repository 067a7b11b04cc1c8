"""The small parts of a worker: how long it waits, how much it claims ahead, which leases it believes in."""

import asyncio
import json
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine

from windlass.db.link import Backoff
from windlass.errors import InvalidInput, Unavailable
from windlass.model import Cancel, ClaimedJob, RetryAfter, Skip, Snooze
from windlass.model.redrive import SYSTEM_QUEUE
from windlass.telemetry import Signal, Telemetry
from windlass.worker import claims, leases, pace
from windlass.worker.attempts import Attempts
from windlass.worker.context import JobContext
from windlass.worker.leases import Lease, Leases
from windlass.worker.outage import Outage
from windlass.worker.pace import MAX_AHEAD, Pace
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.signals import Signals
from windlass.worker.system import SystemWorker
from windlass.worker.words import Limits, Word, word_for_crash, word_for_error, word_for_stop, word_for_value
from windlass.worker.worker import Worker

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_job(token: bytes | None = None) -> ClaimedJob:
    held = uuid4() if token is None else token
    return ClaimedJob(
        uuid4(), uuid4(), "default", "kind", 0, {}, held, 1, 0, 5, NOW, "trace", None, NOW, None
    )


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for module in (leases, claims, pace):
            monkeypatch.setattr(module, "elapsed_clock", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_waits_grow_to_a_cap_and_begin_anew() -> None:
    backoff = Backoff(first=1.0, cap=5.0)
    for longest in (1.0, 2.0, 4.0, 5.0, 5.0):
        assert longest / 2 <= backoff.next() <= longest
    backoff.reset()
    assert backoff.next() <= 1.0


def test_a_failure_is_told_with_what_to_do_about_it() -> None:
    heard: list[Signal] = []
    outage = Outage("claiming", Signals(Telemetry([heard.append])))
    outage.failed(Unavailable("gone", hint="Set it."))
    assert heard[0].fields["hint"] == "Set it."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": "3"}, "concurrency is a whole number from 1 on, not '3'"),
        ({"concurrency": 0}, "concurrency"),
        ({"poll_seconds": float("nan")}, "poll_seconds"),
        ({"poll_seconds": 0}, "poll_seconds"),
        ({"grace_seconds": "soon"}, "grace_seconds"),
        ({"grace_seconds": -1}, "grace_seconds"),
        ({"lease_seconds": 0.01}, "a lease lasts"),
        ({"lease_seconds": None}, "lease_seconds"),
        ({"node_name": "x" * 201}, "at most 200 characters"),
        ({"queues": ()}, "needs a queue"),
        ({"queues": ""}, "must not be empty"),
    ],
)
def test_what_a_worker_cannot_be_told(options: dict[str, Any], said: str) -> None:
    for make in (Worker, SystemWorker):
        with pytest.raises(InvalidInput, match=said):
            make("postgresql://x@/y", Registry(), **options)


def test_a_name_by_itself_is_one_queue() -> None:
    assert Worker("postgresql://x@/y", Registry(), queues="mail").queues == ("mail",)
    assert SystemWorker("postgresql://x@/y", Registry(), queues="mail").queues == ("mail", SYSTEM_QUEUE)


def test_an_outage_is_told_once_and_its_end_too() -> None:
    heard: list[Signal] = []
    outage = Outage("claiming", Signals(Telemetry([heard.append]), "w"))
    outage.over()
    outage.failed(Unavailable("gone"))
    outage.failed(Unavailable("gone"))
    outage.failed(InvalidInput("other"))
    outage.over()
    outage.over()
    assert [signal.name for signal in heard] == [
        "database.unavailable",
        "database.unavailable",
        "database.back",
    ]
    assert [signal.fields["code"] for signal in heard[:2]] == ["unavailable", "invalid_input"]
    assert {signal.fields["worker_id"] for signal in heard} == {"w"}


def test_slow_jobs_are_not_claimed_ahead(clock: Clock) -> None:
    pace = Pace()
    for _ in range(10):
        clock.now += 1.0
        pace.note()
        assert pace.ahead() == 0


def test_quick_jobs_are_claimed_ahead_within_bounds(clock: Clock) -> None:
    pace = Pace()
    for _ in range(100):
        clock.now += 0.02
        for _ in range(40):
            pace.note()
        pace.ahead()
    assert 190 <= pace.ahead() <= 200, "a tenth of a second's worth of 2000 a second"
    clock.now += 0.02
    for _ in range(10**6):
        pace.note()
    assert pace.ahead() == MAX_AHEAD
    clock.now += 5.0
    assert pace.ahead() == 0 or pace.rate() < 100


@pytest.mark.parametrize("before", ["at first", "after a lull"])
def test_a_burst_is_known_for_what_it_is_at_once(clock: Clock, before: str) -> None:
    pace = Pace()
    if before == "after a lull":
        pace.note(1000)
        for _ in range(10):
            clock.now += 0.2
            pace.ahead()
    clock.now += 0.3  # nothing is asked meanwhile, as where a worker waits for a notice
    for _ in range(10):
        pace.note(20)
        clock.now += 0.002
    assert pace.ahead() == MAX_AHEAD
    clock.now += 0.3
    pace.note(3)
    assert pace.ahead() < MAX_AHEAD


def test_a_few_jobs_after_a_lull_are_no_burst(clock: Clock) -> None:
    pace = Pace()
    clock.now += 5.0
    pace.ahead()
    pace.note(10)
    clock.now += 0.02
    assert pace.ahead() == 0
    clock.now += 0.5
    assert pace.ahead() < 3


def test_a_lease_is_believed_in_from_before_it_was_asked_for(clock: Clock) -> None:
    held, token = Leases(10.0), uuid4().bytes
    held.hold([a_job(token), a_job(token)], since=clock.now - 4)
    clock.now += 5.9
    lease = held.get(token, clock.now)
    assert lease is not None
    assert lease.now() == NOW - timedelta(seconds=10) + timedelta(seconds=9.9)
    held.renewed([token], since=clock.now)
    clock.now += 9.9
    assert held.get(token, clock.now) is not None
    assert held.expired() == []
    clock.now += 0.2
    assert held.get(token, clock.now) is None
    assert held.expired() == [token]


def test_a_lease_is_let_go_with_its_last_job(clock: Clock) -> None:
    held, token, other = Leases(10.0), uuid4().bytes, uuid4().bytes
    held.hold([a_job(token), a_job(token), a_job(other)], since=clock.now)
    held.let_go([token])
    assert set(held.tokens()) == {token, other}
    held.let_go([token, token])
    assert held.tokens() == [other]
    held.lose([other])
    held.renewed([other], clock.now)
    assert len(held) == 0


def value(what: Any) -> Word:
    return word_for_value(a_job(), what, Limits(), lambda: NOW)


def test_words_for_values() -> None:
    assert value(None).result is None
    assert (value(7).verb, value(7).result, value(7).state) == ("complete", "7", "succeeded")
    assert (value(Skip()).state, value(Skip()).result) == ("skipped", None)
    assert (value(Cancel("no")).verb, value(Cancel("no")).outcome) == ("fail", "canceled")
    assert (value(RetryAfter(5)).verb, value(RetryAfter(5)).delay) == ("fail", 5.0)
    assert value(Snooze(5)).delay == 5.0
    assert value(Snooze(until=NOW + timedelta(minutes=1))).delay == 60.0
    assert value(Snooze(until=NOW - timedelta(days=1))).delay == 0.0
    assert value(Snooze(until=NOW + timedelta(days=36_500))).delay == 10 * 365 * 86_400.0
    bad = value(object())
    assert (bad.verb, json.loads(bad.error or "")["type"]) == ("fail", "windlass.errors.InvalidInput")


def test_words_for_other_ends() -> None:
    job = a_job()
    assert word_for_stop(job, "lease_lost") is None
    assert [getattr(word_for_stop(job, reason), "verb", None) for reason in ("shutdown", "timed_out")] == [
        "release",
        "fail",
    ]
    canceled = word_for_stop(job, "cancel_requested")
    assert canceled is not None
    assert canceled.outcome == "canceled"
    assert "signal 11" in (word_for_crash(job, -11).error or "")
    long = word_for_error(job, ValueError("x" * 10**6), Limits(error_bytes=2000))
    assert len((long.error or "").encode()) <= 2000


def test_a_context_adds_up_costs_and_refuses_nonsense() -> None:
    context = JobContext(a_job(), "w")
    assert context.cost_cents == 0
    context.cost(3, "stamps")
    context.cost(0, "x" * 200)
    assert context.cost_cents == 3
    for cents in (-1, 1.5, Decimal(1), float("nan"), True, None, "3", 10**12 + 1, 2**63):
        with pytest.raises(InvalidInput, match="whole number of cents"):
            context.cost(cents, "stamps")  # type: ignore[arg-type]
    for what in ("", "  ", "x" * 201, None, 7, b"stamps", "a\x00b", "\ud800"):
        with pytest.raises(InvalidInput, match="what a cost is for"):
            context.cost(3, what)  # type: ignore[arg-type]
    assert context.cost_cents == 3


async def test_a_context_tells_loops_and_threads_why_to_stop() -> None:
    context = JobContext(a_job(), "w")
    assert not context.wait_canceled(0)
    heard: list[bool] = []
    thread = threading.Thread(target=lambda: heard.append(context.wait_canceled(30)))
    thread.start()
    context.tell_stop("timed_out")
    context.tell_stop("shutdown")
    thread.join()
    assert heard == [True]
    assert await context.canceled() == "timed_out", "the first reason stays"
    assert (context.should_stop, context.cancel_requested) == (True, False)


def test_a_finish_on_another_database_is_refused_and_not_noted() -> None:
    context, engine = JobContext(a_job(), "w"), create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(InvalidInput, match="leads to sqlite"):
        context.finish_sync(connection)
    engine.dispose()
    assert not context.finished


async def test_only_an_attempt_that_had_begun_is_given_back_with_its_duration() -> None:
    gate, begun = threading.Event(), threading.Event()

    def kind() -> None:
        begun.set()
        gate.wait()

    registry = Registry()
    said: list[Any] = []
    registry.add(JobDefinition.from_function(kind))
    attempts = Attempts(
        *(registry, 1, "w", Limits(), lambda *_: None),
        say=lambda _, word: said.append(word),
        ended=lambda _: None,
    )
    jobs = [a_job(), a_job()]
    for job in jobs:
        attempts.start(job, Lease(job.token_bytes, NOW, 0.0, 1.0))
    await asyncio.to_thread(begun.wait)
    attempts.stop_all("shutdown")
    gate.set()
    attempts.close()
    words = [word for word in said if word is not None]
    assert [word.verb for word in words] == ["release"] * len(said)
    assert {word.job.id: word.seconds > 0 for word in words} == {jobs[0].id: True, jobs[1].id: False}
