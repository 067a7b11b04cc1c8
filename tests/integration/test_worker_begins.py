"""A worker tells the database of last attempts before their handlers are called, and of no others."""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.telemetry import current_job


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def seen(db: Database) -> Any:
    """What the lease of the running job says, as its handler sees it."""
    job = current_job()
    assert job is not None
    text = "select begins, begun from windlass_data.lease where id = %s"
    return db.fetch_row(text, job.token, role="superuser")


@pytest.mark.parametrize("room", ["loop", "thread"])
async def test_the_database_knows_before_the_handler_is_called(crew: Crew, room: str) -> None:
    found: dict[int, Any] = {}

    async def look(n: int) -> None:
        found[n] = seen(crew.db)

    def look_in_thread(n: int) -> None:
        found[n] = seen(crew.db)

    crew.knows(look if room == "loop" else look_in_thread, kind="look")
    last = crew.enqueue("look", payload={"n": 1}, max_attempts=1)
    async with crew.worker(concurrency=1) as worker:
        await worker.idle()
        crew.enqueue("look", payload={"n": 2}, max_attempts=2)
        await worker.idle()
    assert found[1].begins == [last]
    assert (found[2].begins, found[2].begun) == ([], None), "a job with attempts left costs nothing"
    assert worker.counts.succeeded == 2


async def test_a_handler_that_runs_on_is_told_of_as_called(crew: Crew) -> None:
    told: list[list[UUID]] = []

    async def waits() -> None:
        await until(lambda: seen(crew.db).begun, "the database knows that it began")
        told.append(seen(crew.db).begun)

    crew.knows(waits)
    job_id = crew.enqueue("waits", max_attempts=1)
    async with crew.worker() as worker:
        await worker.idle()
    assert told == [[job_id]]


async def test_a_lease_that_somebody_holds_delays_no_other_last_attempt(crew: Crew) -> None:
    go = asyncio.Event()
    locker = crew.db.connect("superuser", autocommit=False)

    async def is_held() -> None:
        job = current_job()
        assert job is not None
        locker.execute("select from windlass_data.lease where id = %s for update", [job.token])
        await go.wait()

    async def fine() -> None: ...

    crew.knows(is_held)
    crew.knows(fine)
    crew.enqueue("is_held", max_attempts=1)
    async with crew.worker() as worker:
        await until(lambda: worker.running, "it runs, and its lease is held")
        for _ in range(3):
            job_id = crew.enqueue("fine", max_attempts=1)
            await until(partial(succeeded, crew, job_id), "another last attempt begins")
        locker.rollback()
        go.set()
        await worker.idle()
    assert (worker.counts.succeeded, worker.counts.lost) == (4, 0)


def succeeded(crew: Crew, job_id: UUID) -> bool:
    return crew.state(job_id) == "succeeded"


async def test_a_worker_that_loses_its_connection_begins_all_the_same(crew: Crew) -> None:
    async def handle(n: int) -> int:
        if n == 20:
            crew.end_sessions("claim")
        return n

    crew.knows(handle)
    crew.enqueue_many([{"kind": "handle", "payload": {"n": n}, "max_attempts": 1} for n in range(60)])
    async with crew.worker(concurrency=3) as worker:
        await until(lambda: crew.count("succeeded") == 60, "all are done")
    assert worker.counts.lost == 0


async def test_what_waits_for_the_database_when_the_worker_stops_is_given_back(crew: Crew) -> None:
    began: list[int] = []

    async def handle(n: int) -> None:
        began.append(n)

    crew.knows(handle)
    crew.db.execute(
        "create or replace function windlass.begin_jobs("
        " p_tokens uuid[], p_jobs uuid[], p_called boolean[] default null)"
        " returns table (token uuid, job_id uuid, code text) language plpgsql"
        " as $$ begin perform pg_advisory_xact_lock(77); end $$",
        role="superuser",
    )
    holder = crew.db.connect("superuser")
    holder.execute("select pg_advisory_lock(77)")
    job_id = crew.enqueue("handle", payload={"n": 1}, max_attempts=1)
    async with crew.worker() as worker:
        await until(lambda: worker.counts.claimed and not worker.buffered, "it waits for the database")
        worker.request_stop()
        await until(lambda: crew.state(job_id) == "queued", "it is given back")
        holder.execute("select pg_advisory_unlock(77)")
    # A claim that was under way as well may have taken it and given it back once more.
    assert (began, crew.state(job_id), {*crew.outcomes(job_id)}) == ([], "queued", {"released"})
