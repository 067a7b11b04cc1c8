"""A worker that runs on while the database is migrated to a release whose functions are others."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database


@contextmanager
def renamed(db: Database, function: str) -> Iterator[None]:
    """As after a migration: a function that this release calls is not there."""
    db.execute(f"alter routine windlass.{function} rename to gone", role="superuser")
    try:
        yield
    finally:
        db.execute(f"alter routine windlass.gone rename to {function}", role="superuser")


@pytest.mark.parametrize("function", ["complete_jobs", "renew_leases"])
async def test_it_claims_nothing_of_which_it_could_say_nothing(db: Database, function: str) -> None:
    """Each job would be run, in vain, until its lease ended: an attempt that counts."""
    crew = Crew(db)
    go_on = asyncio.Event()

    async def first() -> None:
        await go_on.wait()

    async def fine() -> None: ...

    crew.knows(first)
    crew.knows(fine)
    async with crew.worker(lease_seconds=6.0, poll_seconds=0.05) as worker:
        held = crew.enqueue("first")
        await until(lambda: worker.running, "the first one runs")
        with renamed(db, function):
            if function == "complete_jobs":
                go_on.set()
            await until(worker._flow.mismatch, "it finds out")
            later = crew.enqueue_many([{"kind": "fine", "payload": {}}] * 20)
            demands = 0

            def demand() -> int:
                nonlocal demands
                demands += 1
                return flow_demand()

            flow_demand, worker._flow.claims._demand = worker._flow.claims._demand, demand
            await until(lambda: demands >= 2, "it has thought of claiming")
            assert {crew.state(job_id) for job_id in later} == {"queued"}
        go_on.set()
        await until(lambda: crew.state(held) == "succeeded", "it is heard again")
        await until(lambda: {crew.state(job_id) for job_id in later} == {"succeeded"}, "and goes on")
    assert crew.outcomes(held) == ["succeeded"]
