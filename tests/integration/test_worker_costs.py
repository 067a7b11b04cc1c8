"""ctx.cost, wherever a handler runs: written when it returns, once, and only while the lease is held."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest

from tests.integration.crew import TENANT, Crew, until
from tests.support import Database
from windlass.db.call import Call
from windlass.db.link import AsyncLink
from windlass.errors import LeaseLost, Unavailable
from windlass.worker.context import JobContext
from windlass.worker.costs import Entry, Ledger
from windlass.worker.outage import Outage
from windlass.worker.signals import Signals

T = TypeVar("T")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


def written(crew: Crew, job_id: UUID) -> list[tuple[int, int, str]]:
    rows = crew.db.fetch("select * from windlass.list_job_costs(%s, %s)", TENANT, job_id)
    return [(row.attempt, row.cents, row.what) for row in rows]


def total(crew: Crew) -> int:
    return int(crew.db.fetch_value("select coalesce(sum(cents), 0) from windlass.list_costs()"))


def read_by_another(url: str, job_id: UUID) -> int:
    """The job's cost as another session sees it now."""
    with psycopg.connect(url) as connection:
        query = "select cost_cents from windlass.get_job(%s, %s)"
        ((cents,),) = connection.execute(query, [TENANT, job_id]).fetchall()
        return int(cents)


def lose_lease(url: str) -> None:
    """Once it is known that the attempt has begun: before, its loss would not count against its job."""
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute(
            "select from windlass_data.lease where cardinality(begun) > 0"
        ).fetchall():
            time.sleep(0.005)
    with psycopg.connect(url) as connection:
        connection.execute("update windlass_data.lease set expires_at = 'epoch'")
        assert connection.execute("select * from windlass.expire_leases()").fetchall()


def child_pays(ctx: JobContext, url: str) -> int:
    ctx.cost(4, "in a child")
    return read_by_another(url, ctx.job.id)


async def child_pays_on_a_loop(ctx: JobContext, url: str) -> int:
    await asyncio.gather(ctx.cost(5, "at once"), ctx.cost(6, "with another"))
    ctx.cost(7, "not awaited")
    return read_by_another(url, ctx.job.id)


async def test_a_cost_is_there_when_the_call_returns(crew: Crew) -> None:
    url = crew.db.url()

    async def on_loop(ctx: JobContext) -> int:
        await ctx.cost(1, "on the loop")
        return await asyncio.to_thread(read_by_another, url, ctx.job.id)

    def in_thread(ctx: JobContext) -> int:
        ctx.cost(2, "in a thread")
        return read_by_another(url, ctx.job.id)

    crew.knows(on_loop)
    crew.knows(in_thread)
    crew.knows(child_pays, isolation="process")
    crew.knows(child_pays_on_a_loop, isolation="process")
    ids = [
        crew.enqueue("on_loop"),
        crew.enqueue("in_thread"),
        crew.enqueue("child_pays", payload={"url": url}),
        crew.enqueue("child_pays_on_a_loop", payload={"url": url}),
    ]
    async with crew.worker() as worker:
        await worker.idle()
    assert [crew.job(job_id).result for job_id in ids][:3] == [1, 2, 4]
    assert crew.job(ids[3]).result in (11, 18)
    assert [crew.job(job_id).cost_cents for job_id in ids] == [1, 2, 4, 18]
    assert sorted(what for _, _, what in written(crew, ids[3])) == ["at once", "not awaited", "with another"]
    assert total(crew) == 25


async def test_what_was_not_awaited_is_written_before_the_outcome(crew: Crew) -> None:
    async def careless(ctx: JobContext) -> None:
        ctx.cost(3, "not awaited")
        if ctx.attempt == 1:
            raise ValueError("again")

    crew.knows(careless)
    job_id = crew.enqueue("careless", retry={"base": 0, "factor": 1, "cap": None, "jitter": "none"})
    async with crew.worker() as worker:
        await worker.idle()
    assert crew.outcomes(job_id) == ["failed", "succeeded"]
    assert written(crew, job_id) == [(1, 3, "not awaited"), (2, 3, "not awaited")]


def child_loses(ctx: JobContext, url: str, superuser: str) -> None:
    ctx.cost(1, "ours")
    lose_lease(superuser)
    try:
        ctx.cost(2, "not ours")
    except LeaseLost:
        with psycopg.connect(superuser) as connection:
            connection.execute("create table heard as select 'child' as who")


async def test_a_lost_lease_is_told_to_the_handler(crew: Crew) -> None:
    superuser, heard = crew.db.url("superuser"), []

    async def on_loop(ctx: JobContext) -> None:
        await ctx.cost(1, "ours")
        await asyncio.to_thread(lose_lease, superuser)
        try:
            await ctx.cost(2, "not ours")
        except LeaseLost as error:
            heard.append(error.details["job_id"] == ctx.job.id)
            raise

    def in_thread(ctx: JobContext) -> None:
        ctx.cost(1, "ours")
        lose_lease(superuser)
        with pytest.raises(LeaseLost):
            ctx.cost(2, "not ours")
        heard.append(True)

    crew.knows(on_loop)
    crew.knows(in_thread)
    crew.knows(child_loses, isolation="process")
    urls = {"url": crew.db.url(), "superuser": superuser}
    for kind, payload in (("on_loop", {}), ("in_thread", {}), ("child_loses", urls)):
        job_id = crew.enqueue(kind, payload=payload, max_attempts=1)
        async with crew.worker() as worker:
            await until(lambda job_id=job_id: crew.state(job_id) == "dead", "the job is dead")  # type: ignore[misc]
            await worker.idle()
        assert written(crew, job_id) == [(1, 1, "ours")]
        assert crew.outcomes(job_id) == ["crashed"]
    assert heard == [True, True]
    assert crew.db.fetch_value("select who from heard", role="superuser") == "child"


def child_dies(ctx: JobContext) -> None:
    ctx.cost(9, "paid before the end")
    os.kill(os.getpid(), signal.SIGKILL)


async def test_it_survives_a_child_that_is_killed(crew: Crew) -> None:
    crew.knows(child_dies, isolation="process")
    job_id = crew.enqueue("child_dies", max_attempts=1)
    async with crew.worker() as worker:
        await worker.idle()
    assert crew.outcomes(job_id) == ["failed"]
    assert written(crew, job_id) == [(1, 9, "paid before the end")]


@pytest.mark.parametrize(("kind", "cents"), [("on_loop", 3), ("in_thread", 5)])
def test_it_survives_a_worker_that_is_killed_right_after(crew: Crew, kind: str, cents: int) -> None:
    job_id = crew.enqueue(kind, max_attempts=1)
    command = [sys.executable, "-m", "tests.integration.costly", crew.db.url(), kind]
    done = subprocess.run(command, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert crew.state(job_id) == "running"
    assert written(crew, job_id) == [(1, cents, "paid before the end")]
    assert crew.expire_leases() == 1
    (attempt,) = crew.db.fetch("select * from windlass.list_attempts(%s, %s)", TENANT, job_id)
    assert (attempt.outcome, attempt.cost_cents) == ("crashed", cents)
    assert total(crew) == cents


class Deaf(AsyncLink):
    """Does what it is asked, and loses the first two answers."""

    lost = 0

    async def run(self, call: Call[T]) -> T:
        answer = await super().run(call)
        if self.lost < 2:
            self.lost += 1
            raise Unavailable("the answer was lost")
        return answer


async def test_a_cost_whose_answer_was_lost_counts_once(crew: Crew) -> None:
    job_id = crew.enqueue("pay")
    (row,) = crew.db.fetch("select * from windlass.claim_jobs(%s, array['default'], null, 1, 30)", job_id)
    job: Any = SimpleNamespace(id=job_id, id_bytes=job_id.bytes, token_bytes=row.token.bytes)
    link = Deaf(crew.db.url())
    ledger = Ledger(link, Outage("recording costs", Signals()))
    writing = asyncio.create_task(ledger.run())
    said = [Entry(job, cents, "stamps") for cents in (1, 2, 4)]
    for entry in said:
        ledger.record(entry)
    await asyncio.gather(*said)
    assert link.lost == 2
    assert crew.job(job_id).cost_cents == total(crew) == 7
    writing.cancel()
    ledger.close()
    late = Entry(job, 8, "too late")
    ledger.record(late)
    assert late.answered
    with pytest.raises(Unavailable):
        await late
    await link.close()


async def test_a_handler_that_outlived_its_worker_is_told_so(crew: Crew) -> None:
    begun, stopped = threading.Event(), threading.Event()
    heard: list[Any] = []

    def outlive(ctx: JobContext) -> None:
        begun.set()
        stopped.wait(30)
        try:
            ctx.cost(1, "too late")
        except (Unavailable, LeaseLost) as error:
            heard.append(error)

    crew.knows(outlive)
    job_id = crew.enqueue("outlive")
    async with crew.worker(grace_seconds=0.0) as worker:
        await until(begun.is_set, "the handler runs")
        await worker.stop()
    stopped.set()
    await until(lambda: heard, "the handler is told")
    assert crew.outcomes(job_id) == ["released"]
    assert written(crew, job_id) == []
