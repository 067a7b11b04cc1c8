"""Costs on their way to the ledger: nobody waits for an answer that will not come."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import pytest

from windlass.errors import InvalidInput, LeaseLost, Unavailable
from windlass.model import ClaimedJob
from windlass.worker.attempt import Attempt
from windlass.worker.context import JobContext
from windlass.worker.costs import MAX_BATCH, Entry, Ledger, refuse_entry
from windlass.worker.leases import Lease
from windlass.worker.outage import Outage
from windlass.worker.registry import JobDefinition
from windlass.worker.signals import Signals
from windlass.worker.voice import Relay, Voice

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_job() -> ClaimedJob:
    return ClaimedJob(uuid4(), uuid4(), "default", "pay", 0, {}, uuid4(), 1, 0, 5, NOW, "t", None, NOW, None)


class Caller:
    """A call in a thread, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self._call = call
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except LeaseLost as error:
            self.result = error

    def waits_for(self, said: list[Entry]) -> bool:
        while not said:
            self.thread.join(0.001)
        return self.thread.is_alive()

    def ended_with(self) -> Any:
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.result


def test_a_lost_lease_wakes_whoever_waits() -> None:
    """The database may be away for longer than the lease: nobody answers here."""
    said: list[Entry] = []
    context = JobContext(a_job(), "w", record=said.append)
    caller = Caller(lambda: context.cost(3, "stamps"))
    context.tell_stop("cancel_requested")
    assert caller.waits_for(said), "a job that is to stop may still report what it cost"
    context.tell_stop("lease_lost")
    assert isinstance(caller.ended_with(), LeaseLost)
    with pytest.raises(LeaseLost):
        context.cost(3, "stamps")
    assert (len(said), context.cost_cents) == (1, 0)


def test_the_end_of_a_child_wakes_whoever_waits_for_it() -> None:
    said: list[Entry] = []
    definition = JobDefinition.from_function(lambda: None, kind="pay")
    attempt = Attempt(a_job(), definition, Lease(b"", NOW, 0.0, 1.0), None, said.append)
    caller = Caller(lambda: attempt._told("cost", (3, "stamps", uuid4().bytes)))
    assert caller.waits_for(said)
    attempt.warn("timed_out")
    assert isinstance(caller.ended_with(), LeaseLost)
    assert isinstance(attempt._told("cost", (3, "stamps", uuid4().bytes)), LeaseLost)
    assert len(said) == 1, "of an attempt that was stopped nothing more is said"


def test_a_thread_that_outlived_its_handler_does_not_disturb_the_next_order() -> None:
    told: list[Any] = []

    class Kept(Voice):
        copied = False

        def __init__(self) -> None:
            pass

        def tell(self, name: str, value: Any = None) -> None:
            told.append((name, value and value[:2]))

        def hear(self) -> None:
            return None

    relay = Relay(Kept())
    context = JobContext(a_job(), "w", record=relay.record)
    context.cost(3, "stamps")
    relay.finishing()
    relay.close()
    with pytest.raises(LeaseLost):
        context.cost(4, "stamps")
    with pytest.raises(LeaseLost):
        relay.finishing()
    assert told == [("cost", (3, "stamps")), ("finishing", None)]


def test_a_part_of_a_cluster_job_has_no_costs() -> None:
    with pytest.raises(InvalidInput, match="in the leader's action"):
        JobContext(a_job(), "w", record=refuse_entry).cost(3, "stamps")


async def test_an_error_that_nobody_foresaw_leaves_nobody_waiting() -> None:
    class Broken:
        told = 0

        async def run(self, call: Any) -> list[str]:
            self.told += 1
            if self.told == 1:
                raise OSError(24, "Too many open files")
            return ["ok"] * len(call.values[0].values)

    ledger = Ledger(cast("Any", Broken()), Outage("recording costs", Signals()))
    entries = [Entry(a_job(), 1, "stamps") for _ in range(MAX_BATCH + 1)]
    for entry in entries:
        ledger.record(entry)
    with pytest.raises(OSError, match="open files"):
        await ledger.run()
    again = asyncio.create_task(ledger.run())
    async with asyncio.timeout(10):
        await entries[-1]
        with pytest.raises(Unavailable, match="not known"):
            await entries[0]
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_a_lease_that_is_just_going_is_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    class Going:
        told = 0

        async def run(self, _: Any) -> list[str]:
            self.told += 1
            if self.told == 1:
                raise Unavailable("somebody holds the lease", sqlstate="55P03")
            return ["ok"]

    link = Going()
    ledger = Ledger(cast("Any", link), Outage("recording costs", Signals()))
    entry = Entry(a_job(), 1, "stamps")
    ledger.record(entry)
    running = asyncio.create_task(ledger.run())
    async with asyncio.timeout(10):
        await entry
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (link.told, caplog.records) == (2, [])
