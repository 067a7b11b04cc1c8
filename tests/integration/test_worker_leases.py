"""Leases are kept while handlers run, whatever those do, and let go when they cannot be kept."""

import asyncio
import os
import signal
import time
from functools import partial
from typing import Any

import pytest

from tests.integration.crew import Crew, until
from tests.support import Database
from windlass.worker.context import JobContext
from windlass.worker.worker import Worker


@pytest.fixture
def crew(db: Database) -> Crew:
    return Crew(db)


async def test_a_handler_that_blocks_the_loop_for_three_leases_loses_none(crew: Crew) -> None:
    lease = 1.0

    async def burn() -> int:
        end, rounds = time.monotonic() + 3 * lease, 0
        while time.monotonic() < end:
            rounds += sum(range(1000)) > 0
        return rounds

    crew.knows(burn)
    job_id = crew.enqueue("burn")
    async with crew.worker(lease_seconds=lease, concurrency=1) as worker:
        await worker.idle()
        assert worker.counts.lost == 0
    assert crew.outcomes(job_id) == ["succeeded"]
    assert crew.job(job_id).counted == 1


async def test_jobs_that_wait_in_the_buffer_are_renewed_too(crew: Crew) -> None:
    """One lease covers a batch: what is reported of it does not end what still runs."""
    gate = asyncio.Event()

    async def wait(n: int) -> int:
        if n == 0:
            await gate.wait()
        return n

    crew.knows(wait)
    ids = crew.enqueue_many([{"kind": "wait", "payload": {"n": n}} for n in range(4)])
    async with crew.worker(lease_seconds=0.6) as worker:
        await until(lambda: worker.counts.succeeded == 3, "the others are done")
        seen = worker.renewals
        await until(lambda: worker.renewals > seen + 6, "two leases pass")
        assert crew.leases == 1
        gate.set()
        await worker.idle()
        assert worker.counts.lost == 0
    assert [crew.outcomes(job_id) for job_id in ids] == [["succeeded"]] * 4


@pytest.mark.direct(reason="the pooler waits as long as this lease after a refused login")
async def test_without_the_database_attempts_stop_before_their_lease_is_anothers(crew: Crew) -> None:
    reasons: list[Any] = []

    async def slow(ctx: JobContext) -> str:
        if ctx.attempt > 1:
            return "second"
        try:
            await asyncio.sleep(600)
        finally:
            reasons.append(ctx.stop_reason)
        return "never"

    crew.knows(slow)
    job_id = crew.enqueue("slow")
    async with crew.worker(lease_seconds=1.5) as worker:
        await until(lambda: worker.running, "it runs")
        with refusing_connections(crew.db):
            await until(lambda: reasons and worker.counts.lost == 1, "the attempt is stopped")
        await until(lambda: crew.state(job_id) == "succeeded", "it runs again when the database is back")
        await worker.idle()
    assert reasons == ["lease_lost"]
    assert crew.outcomes(job_id) == ["crashed", "succeeded"]


@pytest.mark.direct(reason="stops a session by its name")
async def test_a_renewal_that_hangs_is_broken_off_in_time(crew: Crew) -> None:
    """The session neither answers nor hangs up: another one renews before the lease runs out."""
    go = asyncio.Event()

    async def slow() -> str:
        await go.wait()
        return "done"

    crew.knows(slow)
    job_id = crew.enqueue("slow")
    async with crew.worker(lease_seconds=4.5) as worker:
        await until(lambda: worker.running and worker.renewals, "it runs, and was renewed")
        text = "select pid from pg_stat_activity where datname = current_database() and application_name ~ %s"
        frozen = [row.pid for row in crew.db.fetch(text, "^windlass renew", role="superuser")]
        assert len(frozen) == 1
        os.kill(frozen[0], signal.SIGSTOP)
        try:
            renewals = worker.renewals
            await until(lambda: worker.renewals > renewals + 2, "other sessions renew")
        finally:
            os.kill(frozen[0], signal.SIGCONT)
        go.set()
        await worker.idle()
    assert crew.outcomes(job_id) == ["succeeded"]


class refusing_connections:  # noqa: N801 - read as a phrase: `with refusing_connections(db):`
    """The application's role cannot connect, and its sessions are ended."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute(f'revoke connect on database "{self._db.name}" from public', role="superuser")
        self._db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and application_name like 'windlass%'",
            role="superuser",
        )

    def __exit__(self, *_: object) -> None:
        self._db.execute(f'grant connect on database "{self._db.name}" to public', role="superuser")


async def test_a_worker_outlives_ended_sessions_and_loses_nothing(crew: Crew) -> None:
    """Words that got no answer are said again; each job is counted once."""
    ran: list[int] = []

    async def note(n: int) -> int:
        ran.append(n)
        await asyncio.sleep(0.001)
        return n

    crew.knows(note)
    ids = crew.enqueue_many([{"kind": "note", "payload": {"n": n}} for n in range(3000)])
    ended = 0
    async with crew.worker(lease_seconds=2.0, concurrency=20) as worker:
        for goal in range(250, 2750, 250):
            ended += crew.end_sessions("")
            await until(partial(reached, worker, goal), "work goes on")
        await until(lambda: crew.count("succeeded") == 3000, "all are done")
        await worker.idle()
    assert ended > 3
    assert set(ran) == set(range(3000))
    assert {crew.job(job_id).state for job_id in ids[:50]} == {"succeeded"}
    doubled = crew.db.fetch_value(
        "select count(*) from (select job_id from windlass_data.attempt where outcome = 'succeeded' "
        "group by job_id having count(*) > 1) as twice",
        role="superuser",
    )
    assert doubled == 0
    assert crew.leases == 0


def reached(worker: Worker, goal: int) -> bool:
    return worker.counts.succeeded >= goal


async def test_a_database_that_is_away_at_the_start_is_waited_for(crew: Crew) -> None:
    async def fine() -> None: ...

    crew.knows(fine)
    job_id = crew.enqueue("fine")
    state = crew.state
    with refusing_connections(crew.db):
        worker = crew.worker()
        await worker.__aenter__()
    try:
        await until(lambda: state(job_id) == "succeeded", "it runs")
    finally:
        await worker.stop()


async def test_a_gate_on_a_node_holds_from_its_first_claim(crew: Crew) -> None:
    async def fine() -> None: ...

    crew.knows(fine)
    crew.db.execute("select windlass.set_gate(p_node => 'n-1', p_reason => 'repairs', p_actor => 'ann')")
    job_id = crew.enqueue("fine")
    async with crew.worker(node_name="n-1") as gated:
        await gated.idle()
        assert gated.counts.claimed == 0
        async with crew.worker(node_name="n-2") as other:
            await other.idle()
        assert gated.counts.claimed == 0
    assert crew.state(job_id) == "succeeded"


async def test_a_node_is_known_while_it_works(crew: Crew) -> None:
    async def fine() -> None: ...

    crew.knows(fine)
    async with crew.worker(node_name="n-1", queues=["a", "b"], concurrency=3) as worker:
        rows = lambda: crew.db.fetch("select * from windlass_data.node", role="superuser")  # noqa: E731
        await until(rows, "its sign of life")
        (node,) = rows()
        assert (node.id, node.name, node.pid, node.concurrency) == (worker.node_id, "n-1", os.getpid(), 3)
        assert (node.queues, node.kinds, node.stopped_at) == (["a", "b"], ["fine"], None)
        await until(lambda: waiting(crew) == 2, "it wants notices of both queues")
    (node,) = rows()
    assert node.stopped_at is not None
    assert waiting(crew) == 0


def waiting(crew: Crew) -> int:
    return int(crew.db.fetch_value("select count(*) from windlass_data.waiting", role="superuser"))
