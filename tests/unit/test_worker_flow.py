"""The way of jobs through a worker: whose slot is whose."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from windlass.model import ClaimedJob
from windlass.worker.begins import Begins
from windlass.worker.claims import MAX_BATCH
from windlass.worker.counts import Counts
from windlass.worker.flow import Flow
from windlass.worker.leases import Leases, elapsed_clock
from windlass.worker.outage import Outage
from windlass.worker.signals import Signals
from windlass.worker.weight import MAX_BYTES, Weight
from windlass.worker.words import Word

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_job(max_attempts: int, payload: Any = None) -> ClaimedJob:
    return ClaimedJob(
        uuid4(), uuid4(), "default", "pay", 0, payload, uuid4(), 1, 0, max_attempts, NOW, "t", None, NOW, None
    )


class Hall:
    """A flow whose lanes only note what they were given."""

    def __init__(self, concurrency: int) -> None:
        self.started: list[ClaimedJob] = []
        self.said: list[Word] = []
        self.flow = flow = Flow(concurrency, Leases(30.0), Counts(), Signals())
        flow.begins = Begins(cast("Any", None), flow.begin, flow.refuse, Outage("beginning", Signals()))
        flow.attempts = cast("Any", SimpleNamespace(busy=0, start=self.start, matching=lambda _: []))
        flow.reporter = cast("Any", SimpleNamespace(backlog=0, say=self.said.append))
        flow.claims = cast("Any", SimpleNamespace(make_room=lambda: None))

    def start(self, job: ClaimedJob, _: object) -> None:
        self.started.append(job)
        self.flow.attempts.busy += 1  # type: ignore[misc]


async def test_a_job_that_is_given_back_before_it_began_leaves_its_slot_to_the_next() -> None:
    hall = Hall(concurrency=1)
    last, next_one = a_job(max_attempts=1), a_job(max_attempts=5)
    hall.flow.admit([last, next_one], elapsed_clock())
    assert (hall.flow.begins.waiting, hall.flow.buffered, hall.started) == (1, 1, [])
    hall.flow._give_back({last.id_bytes})
    assert [(word.job, word.verb) for word in hall.said] == [(last, "release")]
    assert (hall.started, hall.flow.buffered) == ([next_one], 0)


async def test_large_payloads_come_in_small_claims() -> None:
    """Or one claim would be half a gigabyte.  Smaller ones again bring back larger claims, not at once."""
    hall = Hall(concurrency=600)
    assert hall.flow.demand() == MAX_BATCH
    large = a_job(max_attempts=5, payload="x" * 1024 * 1024)
    hall.flow.admit([a_job(max_attempts=5)] * 9 + [large], elapsed_clock())
    assert hall.flow.demand() == pytest.approx(MAX_BYTES / (1024 * 1024 / 10), rel=0.01)
    hall.flow.admit([large] * 10, elapsed_clock())
    assert hall.flow.demand() == pytest.approx(MAX_BYTES / (1024 * 1024), abs=1)
    hall.flow.admit([a_job(max_attempts=5)] * 10, elapsed_clock())
    assert hall.flow.demand() < 40
    for _ in range(50):
        hall.flow.admit([a_job(max_attempts=5)], elapsed_clock())
    assert hall.flow.demand() == MAX_BATCH


async def test_a_payload_however_large_is_claimed() -> None:
    weight = Weight()
    weight.note([a_job(max_attempts=5, payload="x" * 3 * MAX_BYTES)])
    assert weight.most() == 1


async def test_a_canceled_job_that_was_claimed_ahead_never_starts() -> None:
    hall = Hall(concurrency=1)
    first, canceled, third = (a_job(max_attempts=5) for _ in range(3))
    hall.flow.admit([first, canceled, third], elapsed_clock())
    hall.flow.hear_cancel([(canceled.token_bytes, canceled.id_bytes)])
    await asyncio.sleep(0)
    assert [(word.job, word.verb) for word in hall.said] == [(canceled, "release")]
    assert (hall.started, hall.flow.buffered) == ([first], 1)


async def test_what_was_held_back_is_started_once_the_database_understands_again() -> None:
    """Nothing ends meanwhile whose slot would bring it up."""
    hall = Hall(concurrency=4)
    hall.flow.mismatch = lambda: True
    hall.flow.admit([a_job(max_attempts=5)] * 2, elapsed_clock())
    assert (hall.flow.demand(), hall.flow.buffered, hall.started) == (0, 2, [])
    hall.flow.mismatch = lambda: False
    hall.flow.demand()
    assert (hall.flow.buffered, len(hall.started)) == (0, 2)
